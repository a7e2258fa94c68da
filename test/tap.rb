# frozen_string_literal: true

# TAP from Ruby, printed as tests run; threads may. `test "what holds" do … end` with the assertions below, or, where a
# statement has figures, `check "what holds", whether it does, figures`. Tap.finish at the end.
module Tap
  Failure = Class.new(StandardError)

  @count = @failed = 0
  @lock = Mutex.new
  $stdout.sync = true

  class << self
    def run(name)
      yield
    rescue Failure, StandardError, SystemStackError => e
      report(false, name, explanation(e))
    else
      report(true, name)
    end

    def skip(name, reason) = report(true, "#{name} # SKIP #{reason}")

    # `lines`: what is said below it.
    def report(good, name, lines = [])
      @lock.synchronize do
        @count += 1
        @failed += 1 unless good
        puts "#{"not " unless good}ok #{@count} - #{name}", *lines.map { |line| "# #{line}" }
      end
    end

    # Prints the plan: whether all is well.
    def plan
      puts "1..#{@count}"
      @failed.zero? && @count.positive?
    end

    def finish = exit(plan)

    private

    def explanation(error)
      ours = error.is_a?(Failure)
      where = error.backtrace.reject { |line| line.include?("/tap.rb:") }.first(ours ? 1 : 6)
      [*(ours ? error.message : "#{error.class}: #{error.message}").lines(chomp: true), *where]
    end
  end

  module Assertions
    def test(name, &) = Tap.run(name, &)

    def slow_test(name, &block)
      ENV["SLOW"] == "1" ? Tap.run(name, &block) : Tap.skip(name, "SLOW=1 runs it")
    end

    def check(name, holds, figures) = Tap.report(holds, "#{name}: #{figures}")

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
