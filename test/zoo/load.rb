# frozen_string_literal: true

# The load on a program of the zoo: so many requests a second by the clock, so that a slow machine leaks as much as a
# fast one. A program's heading (see header.rb) names the gems that it uses and how long it runs.
#
#   Load.run(50) { |n| handle(n) }                            # 50 a second
#   Load.run(->(second) { second < 10 ? 0 : 80 }) { |n| … }   # the load goes up and down
require_relative "header"

module Load
  HEADER = Header.read($PROGRAM_NAME)
  SECONDS = Float(ENV["ZOO_SECONDS"] || HEADER.seconds)
  STARTED = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  TICK = 0.02
  srand(Integer(ENV.fetch("ZOO_SEED", "1")))

  HEADER.gems(mended: ENV["ZOO_MENDED"] == "1").each { |name, version| gem name, version }

  module_function

  # Seconds since the program started.
  def seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC) - STARTED

  # Yields the number of each request, from 1 on, until the program's time is over, or for so many seconds.
  def run(per_second, seconds: SECONDS - Load.seconds)
    rate = per_second.respond_to?(:call) ? per_second : ->(_second) { per_second }
    done = due = 0
    last = Load.seconds
    stop = last + seconds
    while (now = Load.seconds) < stop
      due += rate.call(now) * (now - last)
      last = now
      yield done += 1 while done < due.floor && Load.seconds < stop
      sleep TICK
    end
  end
end
