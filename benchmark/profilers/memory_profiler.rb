require "memory_profiler"
MemoryProfiler.start
