# What retains memory: for how long a walk over the heap holds a program up, and what its child takes.
require_relative "support"
require "json"

Bench.title "A walk over the heap",
  "$RUBY --heap-sample=interval=512k,malloc=off,output=none,seed=1 benchmark/programs/walk.rb OBJECTS MIB ROUNDS",
  "Hold-up: Ruby code stands still while the kernel copies the page tables. fork(2) of the same process, called before each walk,",
  "is the control. Medians (and least). Run with real-time priority, which the child does not inherit, where that is allowed."
PRIORITY = system("chrt", "-R", "-f", "1", "true", err: File::NULL) ? %w[chrt -R -f 1] : []

ms = ->(list) { format("%.1f (%.1f) ms", Bench.median(list), list.min) }
rows = [[100_000, 0, 15], [1_000_000, 0, 15], [10_000_000, 0, 5], [100_000, 1024, 61]].map do |objects, mib, rounds|
  result = JSON.parse(Bench.run(*PRIORITY, Bench::RUBY, *Bench.sampling("512k"), Bench.here("programs/walk.rb"), objects.to_s, mib.to_s, rounds.to_s))
  forks, walks, resident = result.values_at("forks", "walks", "resident")
  hold_ups, bytes, ns = %w[hold_up bytes ns].map { |name| walks.map { |walk| walk[name] } }
  ratios = hold_ups.zip(forks).map { |hold_up, fork| hold_up / fork }
  [walks.last["objects"], "#{resident.round} MiB", ms[forks], ms[hold_ups], format("%.3f ms", Bench.median(hold_ups) / resident),
   format("%.2f", Bench.median(ratios)), format("%.2f", bytes.max), "#{Bench.median(ns).round} (#{ns.min.round}) ns"]
end
Bench.table ["objects", "RSS", "fork(2)", "hold-up", "a MiB", "to fork(2)", "bytes a slot", "time an object"], rows
puts "", "targets: 0.06 ms a MiB, 1.00 of fork(2), 6 bytes a slot, 300 ns an object"
