# GC.compact with and without samples to carry along.
require_relative "support"

ROUNDS = 9
OBJECTS = "1000000"
SCRIPT = Bench.here("programs/compact.rb")

Bench.title "GC.compact",
  "$RUBY OPTIONS benchmark/programs/compact.rb #{OBJECTS} 4: the second to fourth GC.compact of a process, mean;",
  "#{ROUNDS} rounds in which each configuration ran once; ratio to off round by round."

run = lambda do |ruby, *options|
  -> { Bench.run(ruby, "--disable=gems", *options, SCRIPT, OBJECTS, "4").lines.drop(1).map { |line| line.split.map(&:to_f) }.transpose.map { |v| v.sum / v.size } }
end
times = Bench.interleaved(ROUNDS, {
  "off" => run[Bench::RUBY],
  "off again (control)" => run[Bench::RUBY],
  "stock" => run[Bench::STOCK_RUBY],
  "on, 512k" => run[Bench::RUBY, *Bench.sampling("512k")],
  "on, 4k" => run[Bench::RUBY, *Bench.sampling("4k")],
})
rows = times.map do |name, pairs|
  middle, low, high = Bench.ratios(pairs.map(&:first), times["off"].map(&:first))
  [name, format("%.1f ms", Bench.median(pairs.map(&:first)) * 1000), Bench.median(pairs.map(&:last)).round,
   Bench.ratio(middle), "#{Bench.ratio(low)}..#{Bench.ratio(high)}"]
end
Bench.table ["", "GC.compact", "objects moved", "ratio", "middle half"], rows
