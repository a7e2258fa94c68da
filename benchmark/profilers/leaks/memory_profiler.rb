# A report of a third of the load. While the block runs no GC does: memory_profiler turns it off.
require "memory_profiler"
REPORT = Thread.new do
  Measure.at(25) do
    MemoryProfiler.start
    sleep 20
    MemoryProfiler.stop.pretty_print(to_file: "#{Measure::OUT}/memory_profiler.txt")
  end
end
at_exit { REPORT.join }
