# frozen_string_literal: true

require "heapsample"

module HeapSample
  # Assertions on memory for test suites; heapsample/minitest and heapsample/test_unit
  # put them where tests find them.  On a Ruby without the sampler a test that uses one is
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

    private

    # minitest skips, test-unit omits; both raise.
    def heap_sample_or_skip
      return true if BlockRun.possible?

      respond_to?(:omit, true) ? omit(BlockRun::REASON) : skip(BlockRun::REASON)
    end
  end
end
