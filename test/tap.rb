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

    # Prints the plan, and ends the program.
    def finish
      puts "1..#{@count}"
      exit(@failed.zero? && @count.positive?)
    end
  end
end
