# What sampling malloc costs: a program that is little else, against jemalloc's own profiler at the same rate.
require_relative "support"

LENGTHS = [6_000, 1_000].freeze
PAIRS = Integer(ENV["PAIRS"] || 11)
SCRIPT = Bench.here("programs/mallocs.rb")
DEPTH = Bench.here("programs/malloc_depth.rb")
BLOCKS = 60_000
ROUNDS = 15

def jemalloc(conf) = {"MALLOC_CONF" => conf}
def settings(text) = ["--heap-sample=output=none,seed=1,#{text}"]
OPEN = "prof:true,prof_active:false,lg_prof_sample:19".freeze
OWN = "prof:true,lg_prof_sample:19".freeze

# Name => ruby, options, environment.
CONFIGURATIONS = {
  "stock" => [Bench::STOCK_RUBY, [], {}],
  "stock again (control)" => [Bench::STOCK_RUBY, [], {}],
  "off" => [Bench::RUBY, [], {}],
  "stock, jemalloc's profiler open, not active" => [Bench::STOCK_RUBY, [], jemalloc(OPEN)],
  "standby" => [Bench::RUBY, ["--heap-sample=off,malloc=standby"], {}],
  "stock, jemalloc's profiler at 512k" => [Bench::STOCK_RUBY, [], jemalloc(OWN)],
  "on, malloc alone at 512k" => [Bench::RUBY, settings("interval=1t,malloc=512k"), {}],
  "on, slots and malloc at 512k" => [Bench::RUBY, settings("interval=512k,malloc=512k"), {}],
}.freeze
ITSELF = "stock, jemalloc's profiler at 512k".freeze

def slope(ruby, options, env)
  long, short = LENGTHS.map { |n| Bench.instructions(ruby, "--disable=gems", *options, SCRIPT, n.to_s, env: env) }
  (long.instructions - short.instructions).fdiv(LENGTHS[0] - LENGTHS[1])
end

Bench.title "Instructions of a program that is mostly malloc",
  "setarch -R valgrind --tool=callgrind --callgrind-out-file=/dev/null $RUBY OPTIONS benchmark/programs/mallocs.rb N",
  "with N = #{LENGTHS[0]} less the same with N = #{LENGTHS[1]}; YJIT off, fixed hash seeds, collections at fixed places.",
  "jemalloc's profiler: MALLOC_CONF=#{OWN}; open, not active: #{OPEN}."
counts = CONFIGURATIONS.transform_values { |configuration| slope(*configuration) }
Bench.table ["", "instructions a round", "to stock", "to jemalloc's own"], counts.map { |name, count|
  [name, count.round, Bench.ratio(count / counts["stock"]), Bench.ratio(count / counts[ITSELF])]
}

Bench.title "Time of the same", "User and system time of #{PAIRS} rounds of N = 20000; in a round each runs once, in rotating order.",
  "Ratios round by round: median, and the range of the middle half."
runs = CONFIGURATIONS.transform_values do |ruby, options, env|
  -> { Bench.cpu_seconds { Bench.run(ruby, "--disable=gems", "--disable=yjit", *options, SCRIPT, "20000", env: env) } }
end
runs.each_value(&:call)
times = Bench.interleaved(PAIRS, runs)
Bench.table ["", "time", "to stock", "middle half", "to jemalloc's own", "middle half"], times.map { |name, seconds|
  stock, own = [times["stock"], times[ITSELF]].map { |base| Bench.ratios(seconds, base) }
  [name, format("%.3f s", Bench.median(seconds)), Bench.ratio(stock[0]), "#{Bench.ratio(stock[1])}..#{Bench.ratio(stock[2])}",
   Bench.ratio(own[0]), "#{Bench.ratio(own[1])}..#{Bench.ratio(own[2])}"]
}

Bench.title "Cost of one sample of malloc at a 16 KiB interval",
  "instructions: valgrind --tool=callgrind $RUBY benchmark/programs/malloc_depth.rb DEPTH #{BLOCKS}, (on - open) / samples,",
  "from the malloc that meets it to the free that buries it, a stack that has been met before. jemalloc's own, on stock:",
  "the same with MALLOC_CONF=prof:true,lg_prof_sample:14; as many samples are assumed.",
  "time: $RUBY --heap-sample=off,malloc=16k,malloc=standby benchmark/programs/malloc_depth.rb DEPTH 200000 time #{ROUNDS}:",
  "processor time, off and on in turn in one process, (on - off) / samples, median and the range of the middle half."
rows = [15, 100, 200].map do |depth|
  count = ->(ruby, options, env) { Bench.instructions(ruby, "--disable=gems", *options, DEPTH, depth.to_s, BLOCKS.to_s, env: env) }
  open = count[Bench::RUBY, ["--heap-sample=off,malloc=standby"], {}]
  on = count[Bench::RUBY, settings("interval=1t,malloc=16k"), {}]
  stock_open = count[Bench::STOCK_RUBY, [], jemalloc(OPEN.sub("19", "14"))]
  stock_on = count[Bench::STOCK_RUBY, [], jemalloc(OWN.sub("19", "14"))]
  samples = on.output.to_i

  out = Bench.run(Bench::RUBY, "--disable=gems", "--disable=yjit", "--heap-sample=off,malloc=16k,malloc=standby",
                  DEPTH, depth.to_s, "200000", "time", ROUNDS.to_s)
  lines = out.lines.map { |line| line.split.map(&:to_f) }
  times = lines.map { |on_s, off_s, taken| (on_s - off_s) / taken * 1e6 }.sort
  [depth, samples, (on.instructions - open.instructions) / samples, (stock_on.instructions - stock_open.instructions) / samples,
   format("%.1f us", Bench.median(times)), format("%.1f..%.1f", times[times.size / 4], times[-1 - times.size / 4])]
end
Bench.table ["stack depth", "samples", "instructions", "jemalloc's own", "time", "middle half"], rows
