# frozen_string_literal: true

require "heapsample"

module HeapSample
  # Assertions on memory for test suites; heapsample/minitest and heapsample/test_unit
  # put them where tests find them.  On a Ruby without the sampler a test that uses one of the first two is
  # skipped, with the reason.
  module Assertions
    # call-seq:
    #   assert_retains_at_most(bytes, warmup: 0, interval: 1, threads: nil) { }
    #
    # Fails if more than +bytes+ of what the block makes are alive when it has
    # returned and a full GC has run: slots, and what objects hold outside them.  What
    # the block returns may be freed.  See HeapSample::Retention.
    def assert_retains_at_most(bytes, **options, &block)
      raise ArgumentError, "assert_retains_at_most needs a block" unless block
      raise ArgumentError, "bytes must be a number of 0 or more, not #{bytes.inspect}" unless bytes.is_a?(Numeric) && bytes >= 0

      heap_sample_or_skip or return
      retention = Retention.new(**options, &block)
      assert(!retention.more_than?(bytes), retention.more_than?(bytes) ? retention.message(bytes) : nil)
    end

    # call-seq:
    #   assert_no_leak(warmup: 2, runs: 9, interval: 1, threads: nil) { }
    #
    # Runs the block +warmup+ and then +runs+ times, and fails if a line in it leaves objects
    # behind in all parts of the time.  See HeapSample::RepeatedBlock.
    def assert_no_leak(**options, &block)
      raise ArgumentError, "assert_no_leak needs a block" unless block

      heap_sample_or_skip or return
      repeated = RepeatedBlock.new(**options, &block)
      assert(repeated.leaks.empty?, repeated.leaks.empty? ? nil : repeated.message)
    end

    # call-seq:
    #   assert_allocates_at_most(objects, warmup: 1, threads: nil) { }
    #
    # Fails if the block allocates more objects: of this thread on a Ruby with the sampler, else of the process.  See
    # HeapSample::Allocation.
    def assert_allocates_at_most(objects, **options, &block)
      at_most("assert_allocates_at_most", "objects", objects, block) { Allocation.new(**options, &block) }
    end

    # call-seq:
    #   assert_peak_at_most(bytes, warmup: 0) { }
    #
    # Fails if the block raises the resident memory of the process by more bytes.  It is skipped where the kernel does not
    # show the peak.  See HeapSample::PeakMemory.
    def assert_peak_at_most(bytes, **options, &block)
      PeakMemory.possible? or return heap_sample_skip(PeakMemory::REASON)
      at_most("assert_peak_at_most", "bytes", bytes, block) { PeakMemory.new(**options, &block) }
    end

    private

    def at_most(name, unit, limit, block)
      raise ArgumentError, "#{name} needs a block" unless block
      raise ArgumentError, "#{unit} must be a number of 0 or more, not #{limit.inspect}" unless limit.is_a?(Numeric) && limit >= 0

      measured = yield
      assert(!measured.more_than?(limit), measured.more_than?(limit) ? measured.message(limit) : nil)
    end

    # minitest skips, test-unit omits; both raise.
    def heap_sample_or_skip
      BlockRun.possible? || heap_sample_skip(BlockRun::REASON)
    end

    def heap_sample_skip(reason) = respond_to?(:omit, true) ? omit(reason) : skip(reason)
  end
end
