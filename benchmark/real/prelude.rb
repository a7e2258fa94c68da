# Loaded before a program that `benchmark/run real` measures. When the program ends, its figures go to the
# file that BENCH_FIGURES names. Forked children do not write. JSON is made by hand: nothing is loaded.
#
# BENCH_OBJECTS objects of each size are made and dropped first. At which point of a program its first collections
# fall decides how large its heap becomes for good (doc/benchmarks.md). That is chance, and would be the same chance
# in every round; so each run draws this number anew.

ENV.delete("BENCH_OBJECTS").to_i.times { ["", "x" * 30, "x" * 60, "x" * 120, "x" * 300, "x" * 600] }

file = ENV.delete("BENCH_FIGURES")
measured = Process.pid

# Registered first, so it runs after every other at_exit.
at_exit do
  next unless file && Process.pid == measured
  gc = GC.stat
  sampler = defined?(GC::SampleProfile) ? GC::SampleProfile.stat : {}
  figures = {
    memory: File.read("/proc/self/status")[/^VmHWM:\s+(\d+)/, 1].to_i * 1024,
    gc: gc[:count], minor: gc[:minor_gc_count], major: gc[:major_gc_count],
    pages: gc[:heap_allocated_pages], own: sampler[:running] ? sampler[:bytes] : 0,
  }
  File.write(file, "{#{figures.map { |name, value| "\"#{name}\":#{value}" }.join(",")}}")
end
