# For each run of `benchmark/run compare`, loaded first: activates the gems of the program, so that a profiler does not
# activate other versions, and measures the longest stop of the program and its memory.
ENV.fetch("COMPARE_GEMS").split(",").each { |entry| gem(*entry.split(" ")) }

module Measure
  OUT = ENV.fetch("COMPARE_OUT")
  FROM, TO = 5, 61 # seconds: loading, and what a profiler does at the exit, are left out
  STARTED = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  # Runs the block that many seconds after the start, in a thread of its own.
  def self.at(second)
    sleep [second - (Process.clock_gettime(Process::CLOCK_MONOTONIC) - STARTED), 0].max
    yield
  end

  @longest = 0
  # A thread that sleeps 1 ms notes how much later it runs again.
  Thread.new do
    sleep FROM
    stop = (STARTED + TO) * 1_000_000_000
    last = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    while last < stop
      sleep 0.001
      now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
      @longest = now - last if now - last > @longest
      last = now
    end
  end

  at_exit do
    peak = File.read("/proc/self/status")[/^VmHWM:\s+(\d+)/, 1]
    File.write("#{OUT}/measured", "#{@longest / 1e6} #{peak}\n")
  end
end
