# frozen_string_literal: true

# Just enough of a test framework: tests print TAP as they run.
module Tap
  Failure = Class.new(StandardError)

  @count = @failed = 0

  class << self
    def run(name)
      @count += 1
      yield
      puts "ok #{@count} - #{name}"
    rescue Failure, StandardError, SystemStackError => e
      @failed += 1
      puts "not ok #{@count} - #{name}"
      message = e.is_a?(Failure) ? e.message : "#{e.class}: #{e.message}"
      where = e.backtrace.reject { |line| line.include?("/tap.rb:") }.first(e.is_a?(Failure) ? 1 : 6)
      puts [*message.lines(chomp: true), *where].map { |line| "# #{line}" }
    end

    def skip(name, reason)
      @count += 1
      puts "ok #{@count} - #{name} # SKIP #{reason}"
    end

    def finish
      puts "1..#{@count}"
      exit(@failed.zero? && @count > 0 ? 0 : 1)
    end
  end

  module Assertions
    def test(name, &block) = Tap.run(name, &block)

    def slow_test(name, &block)
      ENV["SLOW"] == "1" ? Tap.run(name, &block) : Tap.skip(name, "SLOW=1 runs it")
    end

    def flunk(message) = raise(Failure, message)

    def assert(condition, message = "is not so")
      flunk(message) unless condition
    end

    def equal(expected, actual)
      return if expected == actual

      text = [expected, actual].map { |value| value.is_a?(String) && value.include?("\n") ? "\n#{value}" : value.inspect }
      flunk("expected #{text[0]}\ngot #{text[1]}")
    end

    def close(expected, actual, tolerance = 1e-9)
      return if (expected - actual).abs <= tolerance * [expected.abs, 1].max

      flunk("expected about #{expected}, got #{actual}")
    end

    def raises(type, pattern)
      begin
        yield
      rescue type => e
        flunk("message is #{e.message.inspect}, not #{pattern.inspect}") unless pattern.match?(e.message)
        return e
      end
      flunk("#{type} was not raised")
    end
  end
end

include Tap::Assertions
