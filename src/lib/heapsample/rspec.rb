# frozen_string_literal: true

# Matchers for RSpec:
#
#   expect { cache.fetch(1) }.to retain_at_most(1024)
#   expect { app.call(request) }.not_to leak
#   expect { app.call(request) }.to allocate_at_most(500)
#   expect { report.render }.to peak_at_most(10 << 20)
#
# Options are the same as in HeapSample::Retention and HeapSample::RepeatedBlock:
# retain_at_most(1024, warmup: 1), leak(runs: 30).  On a Ruby without the sampler the example is
# skipped, with the reason.
require "rspec/core"
require "rspec/expectations"
require "heapsample"

module HeapSample
  module RSpecMatchers
    # What a block retains.
    class RetainAtMost
      def initialize(bytes, **options)
        raise ArgumentError, "bytes must be a number of 0 or more, not #{bytes.inspect}" unless bytes.is_a?(Numeric) && bytes >= 0

        @bytes = bytes
        @options = options
      end

      def matches?(block)
        @retention = Retention.new(**@options, &block)
        !@retention.more_than?(@bytes)
      end

      def supports_block_expectations? = true
      def supports_value_expectations? = false
      def description = "retain at most #{@bytes} bytes"
      def failure_message = @retention.message(@bytes)
      def failure_message_when_negated = "expected the block to retain more than #{@bytes} bytes; it retains #{@retention.bytes.round}"
    end

    # What a block allocates, or needs at its peak: +measured+ is Allocation or PeakMemory, +what+ the name of the unit.
    class AtMost
      def initialize(measured, verb, what, limit, **options)
        raise ArgumentError, "#{what} must be a number of 0 or more, not #{limit.inspect}" unless limit.is_a?(Numeric) && limit >= 0

        @measured, @verb, @what, @limit, @options = measured, verb, what, limit, options
      end

      def matches?(block)
        @result = @measured.new(**@options, &block)
        !@result.more_than?(@limit)
      end

      def supports_block_expectations? = true
      def supports_value_expectations? = false
      def description = "#{@verb} at most #{@limit} #{@what}"
      def failure_message = @result.message(@limit)
      def failure_message_when_negated = "expected the block to #{@verb} more than #{@limit} #{@what}; it does not"
    end

    # Whether a block leaks.
    class Leak
      def initialize(**options) = @options = options

      def matches?(block)
        @repeated = RepeatedBlock.new(**@options, &block)
        !@repeated.leaks.empty?
      end

      def supports_block_expectations? = true
      def supports_value_expectations? = false
      def description = "leak"
      def failure_message = "expected the block to leave objects behind in each third of its runs; it leaves none"
      def failure_message_when_negated = @repeated.message
    end

    def retain_at_most(...)
      skip(BlockRun::REASON) unless BlockRun.possible?
      RetainAtMost.new(...)
    end

    def allocate_at_most(objects, **options) = AtMost.new(Allocation, "allocate", "objects", objects, **options)

    def peak_at_most(bytes, **options)
      skip(PeakMemory::REASON) unless PeakMemory.possible?
      AtMost.new(PeakMemory, "need", "bytes", bytes, **options)
    end

    def leak(...)
      skip(BlockRun::REASON) unless BlockRun.possible?
      Leak.new(...)
    end
  end
end

RSpec.configure { |config| config.include(HeapSample::RSpecMatchers) }
