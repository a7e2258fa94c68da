# Instructions per allocation against the same Ruby without our changes, by callgrind: the difference
# of a long and a short loop, so that start-up cancels. And what start-up itself costs.
require_relative "support"

LENGTHS = [120_000, 20_000].freeze
# Others cost so much that less will do.
OTHERS = [40_000, 20_000].freeze

def slope(ruby, *arguments, gc: nil, lengths: LENGTHS)
  script = [Bench.here("programs/mixed.rb")]
  long, short = lengths.map { |n| Bench.instructions(ruby, *arguments, *script, n.to_s, *gc) }
  collections, samples = long.output.split.zip(short.output.split).map { |a, b| a.to_i - b.to_i }
  { per_round: (long.instructions - short.instructions).fdiv(lengths[0] - lengths[1]), collections:, samples: }
end

Bench.title "Instructions of a mixed allocation loop",
  "setarch -R valgrind --tool=callgrind --callgrind-out-file=/dev/null $RUBY OPTIONS benchmark/programs/mixed.rb N",
  "with N = #{LENGTHS[0]} less the same with N = #{LENGTHS[1]}; YJIT off, fixed hash seeds (benchmark/steady.c).",
  "A round allocates two strings, an array, a hash, an object, a float and what they bring with them."

bare = ["--disable=gems"]
rows = []
stock = slope(Bench::STOCK_RUBY, *bare)
add = lambda do |name, figure, base, target = ""|
  rows << [name, figure[:per_round].round(1), Bench.ratio(figure[:per_round] / base[:per_round]), target,
           figure[:collections], figure[:samples]]
end
add["stock", stock, stock]
add["stock again (control)", slope(Bench::STOCK_RUBY, *bare), stock]
add["off", slope(Bench::RUBY, *bare), stock, "<= 1.001"]
add["on, 512k", slope(Bench::RUBY, *bare, *Bench.sampling("512k")), stock, "<= 1.003"]
add["on, 512k, malloc too", slope(Bench::RUBY, *bare, *Bench.sampling("512k", malloc: "512k")), stock]
add["on, 64k", slope(Bench::RUBY, *bare, *Bench.sampling("64k")), stock]
add["on, 4k", slope(Bench::RUBY, *bare, *Bench.sampling("4k")), stock]
natural = slope(Bench::STOCK_RUBY, *bare, gc: "gc")
add["stock, GC when the VM wants", natural, natural]
add["off, GC when the VM wants", slope(Bench::RUBY, *bare, gc: "gc"), natural]
add["on, 512k, GC when the VM wants", slope(Bench::RUBY, *bare, *Bench.sampling("512k"), gc: "gc"), natural]
Bench.table ["", "instructions a round", "ratio", "target", "GCs", "samples"], rows

Bench.title "Other profilers, the same loop",
  "On stock Ruby, N = #{OTHERS[0]} less N = #{OTHERS[1]}, settings in benchmark/profilers/; what they do at the end",
  "is not counted. Datadog's chooses how many allocations to sample by their cost in time, and here the clock",
  "runs slow: it samples less than it would."
rows = []
stock = slope(Bench::STOCK_RUBY, *bare, lengths: OTHERS)
add["stock", stock, stock]
hook = ["-I", Bench.extension("newobj_hook", Bench::STOCK_RUBY), "-rnewobj_hook"]
add["empty C NEWOBJ hook", slope(Bench::STOCK_RUBY, *bare, *hook, lengths: OTHERS), stock]
%w[trace_object_allocations vernier memory_profiler allocation_tracer heap-profiler datadog ruby_memprofiler_pprof].each do |name|
  own = name == "trace_object_allocations"
  begin
    if !own && !Bench.gem?(name)
      rows << [name, "does not install", "", "", "", ""]
      next
    end
    add[name, slope(Bench::STOCK_RUBY, *(bare if own), "-r", Bench.here("profilers/#{name}.rb"), lengths: OTHERS), stock]
  rescue => e
    File.write(File.join(Bench::OUT, "profiler-#{name}.log"), e.message)
    rows << [name, "does not run", "", "", "", ""]
  end
end
Bench.table ["", "instructions a round", "ratio", "target", "GCs", "samples"], rows

Bench.title "Instructions of starting up", "setarch -R valgrind --tool=callgrind --callgrind-out-file=/dev/null $RUBY --disable=gems -e 0"
start = ->(ruby, *options) { Bench.instructions(ruby, *bare, *options, "-e", "0").instructions }
base = start[Bench::STOCK_RUBY]
rows = [
  ["stock", base], ["stock again (control)", start[Bench::STOCK_RUBY]], ["off", start[Bench::RUBY]],
  ["on, 512k", start[Bench::RUBY, *Bench.sampling("512k")]],
  ["on, 512k, malloc too", start[Bench::RUBY, *Bench.sampling("512k", malloc: "512k")]],
  ["on, auto, malloc too", start[Bench::RUBY, *Bench.sampling("auto", malloc: "auto")]],
].map { |name, count| [name, count, count - base, Bench.ratio(count.fdiv(base))] }
Bench.table ["", "instructions", "more than stock", "ratio"], rows
