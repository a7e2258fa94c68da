# Proportional set size of four preloaded, forked workers after they worked and collected.
require_relative "support"

# Where a heap's size falls between two collections decides up to a fifth of a worker's memory, whatever
# the build. So each configuration meets the same row of sizes.
SIZES = (180_000..260_000).step(10_000).to_a.freeze
SCRIPT = Bench.here("programs/workers.rb")

Bench.title "Memory of four preloaded workers",
  "$RUBY OPTIONS benchmark/programs/workers.rb SIZE: PSS of /proc/PID/smaps_rollup, sum of four workers and their",
  "parent; #{SIZES.size} sizes of the preloaded application, #{SIZES.first} to #{SIZES.last} objects of its own.",
  "Ratio to off size by size: median, and the range of the middle half; and the ratio of the sums."

measure = lambda do |ruby, *options|
  sizes = SIZES.each
  -> { Bench.run(ruby, "--disable=yjit", *options, SCRIPT, sizes.next.to_s).split.map(&:to_i) }
end
sizes = Bench.interleaved(SIZES.size, {
  "off" => measure[Bench::RUBY],
  "off again (control)" => measure[Bench::RUBY],
  "stock" => measure[Bench::STOCK_RUBY],
  "on, 512k" => measure[Bench::RUBY, *Bench.sampling("512k")],
  "on, 512k, malloc too" => measure[Bench::RUBY, *Bench.sampling("512k", malloc: "512k")],
  "on, auto, malloc too" => measure[Bench::RUBY, *Bench.sampling("auto", malloc: "auto")],
  "on, 64k" => measure[Bench::RUBY, *Bench.sampling("64k")],
})
rows = sizes.map do |name, pairs|
  middle, low, high = Bench.ratios(pairs.map(&:sum), sizes["off"].map(&:sum))
  [name, Bench.median(pairs.map(&:first)), Bench.median(pairs.map(&:last)), Bench.ratio(middle),
   "#{Bench.ratio(low)}..#{Bench.ratio(high)}", Bench.ratio(pairs.flatten.sum.fdiv(sizes["off"].flatten.sum)),
   name == "on, 512k" ? "<= 1.01" : ""]
end
Bench.table ["", "workers, KiB", "parent, KiB", "ratio", "middle half", "of the sums", "target"], rows
