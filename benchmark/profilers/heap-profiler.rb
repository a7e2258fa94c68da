require "heap-profiler"
require "tmpdir"
HeapProfiler::Reporter.new(Dir.mktmpdir).start
