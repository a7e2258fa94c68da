# Proportional set size of four preloaded, forked workers after they worked and collected.
require_relative "support"

ROUNDS = Integer(ENV["ROUNDS"] || 9)
SCRIPT = Bench.here("programs/workers.rb")

Bench.title "Memory of four preloaded workers",
  "$RUBY OPTIONS benchmark/programs/workers.rb: PSS of /proc/PID/smaps_rollup, sum of four workers and their parent,",
  "median of #{ROUNDS} rounds in which each configuration ran once; ratio to off round by round."

run = ->(ruby, *options) { -> { Bench.run(ruby, "--disable=yjit", *options, SCRIPT).split.map(&:to_i) } }
sizes = Bench.interleaved(ROUNDS, {
  "off" => run[Bench::RUBY],
  "off again (control)" => run[Bench::RUBY],
  "stock" => run[Bench::STOCK_RUBY],
  "on, 512k" => run[Bench::RUBY, *Bench.sampling("512k")],
  "on, 64k" => run[Bench::RUBY, *Bench.sampling("64k")],
})
rows = sizes.map do |name, pairs|
  middle, low, high = Bench.ratios(pairs.map(&:sum), sizes["off"].map(&:sum))
  workers, = Bench.ratios(pairs.map(&:first), sizes["off"].map(&:first))
  [name, Bench.median(pairs.map(&:first)), Bench.median(pairs.map(&:last)), Bench.ratio(middle),
   "#{Bench.ratio(low)}..#{Bench.ratio(high)}", Bench.ratio(workers), name == "on, 512k" ? "<= 1.01" : ""]
end
Bench.table ["", "workers, KiB", "parent, KiB", "ratio of all", "middle half", "of workers", "target"], rows
