# What one sample costs, from the allocation that meets it to the mark that buries it, by stack depth.
require_relative "support"

N = 1_000_000
ROUNDS = 15
SCRIPT = Bench.here("programs/depth.rb")
# What the prototype took is in src/gc/default/heap_sampler_cut.inc.
TARGET = { 100 => 0.57, 200 => 0.78 }.freeze

def instructions(depth, *options)
  Bench.instructions(Bench::RUBY, "--disable=gems", *options, SCRIPT, depth.to_s, (N / 2).to_s)
end

Bench.title "Cost of one sample at a 4 KiB interval",
  "instructions: valgrind --tool=callgrind $RUBY benchmark/programs/depth.rb DEPTH #{N / 2}, (on - off) / samples.",
  "time: $RUBY benchmark/programs/depth.rb DEPTH #{N} time #{ROUNDS}: processor time, off and on in turn in one process,",
  "(on - off) / samples, median of #{ROUNDS} rounds and the range of their middle half; YJIT off.",
  "off against off is the same figure with the profiler off in both: how far from 0 noise alone goes."

rows = [15, 100, 200].map do |depth|
  off = instructions(depth)
  on = instructions(depth, *Bench.sampling("4k"))
  per_sample = (on.instructions - off.instructions).fdiv(on.output.to_i)

  out = Bench.run(Bench::RUBY, "--disable=gems", "--disable=yjit", SCRIPT, depth.to_s, N.to_s, "time", ROUNDS.to_s)
  lines = out.lines.map { |line| line.split.map(&:to_f) }
  times = lines.map { |on_s, off_s, samples| (on_s - off_s) / samples * 1e6 }.sort
  noise = lines.each_cons(2).map { |a, b| (a[1] - b[1]) / a[2] * 1e6 }
  quarter = times.size / 4
  [depth, on.output, per_sample.round, format("%.2f us", Bench.median(times)),
   format("%.2f..%.2f", times[quarter], times[-1 - quarter]), format("%.2f us", Bench.median(noise)),
   TARGET[depth] ? "<= #{TARGET[depth]} us" : ""]
end
Bench.table ["stack depth", "samples", "instructions", "time", "middle half", "off against off", "target"], rows
