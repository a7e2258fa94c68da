require "ruby_memprofiler_pprof"
# Samples are never flushed here, so their number is bounded instead.
MemprofilerPprof::Collector.new(sample_rate: 0.01, max_allocation_samples: 10_000, max_heap_samples: 10_000).start!
