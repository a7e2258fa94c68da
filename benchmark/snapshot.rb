# A snapshot of two million live strings: how long Ruby code is held up, how long it takes, how large it is.
require_relative "support"
require "json"

STRINGS, ROUNDS = 2_000_000, 21
FILE = File.join(Bench::OUT, "snapshot.pb.gz")

Bench.title "Snapshot of two million live strings",
  "$RUBY --heap-sample=interval=T,malloc=T,output=none,seed=1 benchmark/programs/hold_up.rb #{STRINGS} #{ROUNDS} FILE",
  "A thread allocates and asks the clock over and over; hold-up is the longest time between two answers,",
  "less the same with no snapshot: over #{ROUNDS} snapshots the median, and the least, which other programs on",
  "the machine disturb least. Run with real-time priority where that is allowed."
PRIORITY = system("chrt", "-f", "1", "true", err: File::NULL) ? %w[chrt -f 1] : []

us = ->(seconds) { "#{(seconds * 1e6).round} us" }
rows = %w[512k 4k].flat_map do |interval|
  line = Bench.run(*PRIORITY, Bench::RUBY, *Bench.sampling(interval, malloc: interval), Bench.here("programs/hold_up.rb"),
                   STRINGS.to_s, ROUNDS.to_s, FILE)
  result = JSON.parse(line)
  control = result["gaps"]["nothing (control)"]
  result["gaps"].map do |name, gaps|
    wall = result["wall"][name]
    saved = name == "profile.save"
    ["#{interval}: #{name}", result["samples"], us[Bench.median(gaps)], us[Bench.median(gaps) - Bench.median(control)], us[gaps.min - control.min],
     wall ? us[Bench.median(wall)] : "", saved ? result["bytes"] : "",
     interval == "512k" && wall ? (saved ? "< 1 ms, < 200000 B" : "< 1 ms") : ""]
  end
end
Bench.table ["", "live samples", "longest gap", "hold-up", "least", "wall time", "bytes", "target"], rows

dump = Bench.run(Bench::STOCK_RUBY, "-robjspace", "-e", <<~RUBY)
  live = Array.new(#{STRINGS}) { |i| "live string \#{i}" }
  GC.start
  start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  File.open(#{File.join(Bench::OUT, "heap.json").inspect}, "w") { |file| ObjectSpace.dump_all(output: file) }
  print Process.clock_gettime(Process::CLOCK_MONOTONIC) - start
RUBY
Bench.title "A heap dump of the same, for comparison", "ObjectSpace.dump_all on stock Ruby"
Bench.table ["", "the program stops for", "bytes"],
  [["ObjectSpace.dump_all", format("%.2f s", dump.to_f), File.size(File.join(Bench::OUT, "heap.json"))]]
File.delete(File.join(Bench::OUT, "heap.json"))
