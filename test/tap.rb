# frozen_string_literal: true

# TAP for programs that run other tests (MRI's, mixes of load, recorded series) and report each as it ends; threads may.
# Tests themselves are minitest (testing.rb).
module Tap
  @count = @failed = 0
  @lock = Mutex.new
  $stdout.sync = true

  class << self
    # `lines` are printed below it.
    def report(good, name, lines = [])
      @lock.synchronize do
        @count += 1
        @failed += 1 unless good
        puts "#{"not " unless good}ok #{@count} - #{name}", *lines.map { |line| "# #{line}" }
      end
    end

    def skip(name, reason) = report(true, "#{name} # SKIP #{reason}")

    # A file of MRI's harness (all/mri/results.rb): a line for each test, then the sums, and the tests that took SECONDS.
    def results(name, results, seconds: 10)
      results.outcomes.each { |test, outcome| outcome("#{name}: #{test}", outcome) }
      long = results.outcomes.select { |_, outcome| outcome.seconds >= seconds }.sort_by { |_, outcome| -outcome.seconds }
      puts "# #{name}: #{results}", *long.map { |test, outcome| format('#   %4d s %s', outcome.seconds, test) }
      report(false, "#{name}: runs to its end", results.broken.b.lines(chomp: true)) if results.broken
      report(false, "#{name}: has tests that can run") if results.tests.empty?
    end

    # Prints the plan, and ends the program.
    def finish
      puts "1..#{@count}"
      exit(@failed.zero? && @count.positive?)
    end

    private

    def outcome(name, outcome)
      case outcome.status
      when 'pass' then report(true, name)
      when 'skip' then skip(name, outcome.message.lines.first.to_s.chomp.sub(/\A[\w:]+: /, ''))
      else report(false, name, outcome.message.b.lines(chomp: true))
      end
    end
  end
end
