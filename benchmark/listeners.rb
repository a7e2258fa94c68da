# What a listener of sampled allocations costs (include/ruby/heap_sampler.h), compared with a hook for each allocation, and
# vernier's allocation profile as published and with examples/vernier/heap_sampler.patch.
require_relative "support"

LENGTHS = [20_000, 10_000].freeze
DEPTHS = [15, 100].freeze
OBJECTS = 100_000

def listening(interval, listeners: 1, follows: 0)
  { "LISTENER_INTERVAL" => interval.to_s, "LISTENERS" => listeners.to_s, "LISTENER_FOLLOWS" => follows.to_s }
end

def per_round(ruby, *arguments, gems: false, env: {})
  long, short = LENGTHS.map { |n| Bench.instructions(ruby, *("--disable=gems" unless gems), *arguments, Bench.here("programs/mixed.rb"), n.to_s, env: env).instructions }
  (long - short).fdiv(LENGTHS[0] - LENGTHS[1])
end

# The gem as it is installed, compiled for our Ruby with the patch: its folder.
def patched_vernier
  version = File.read(Bench.here("gems.txt"))[/^vernier (\S+)/, 1]
  dir = File.join(Bench::OUT, "vernier-patched")
  FileUtils.rm_rf(dir)
  FileUtils.cp_r(File.join(Bench::GEMS, "gems/vernier-#{version}"), dir)
  Bench.run("patch", "-p1", "-i", File.join(Bench::TOP, "examples/vernier/heap_sampler.patch"), dir: dir)
  source = File.join(dir, "ext/vernier")
  FileUtils.rm_f(Dir[File.join(source, "{Makefile,*.o,*.so}")])
  Bench.run(Bench::RUBY, "extconf.rb", dir: source)
  Bench.run("make", dir: source)
  FileUtils.cp(File.join(source, "vernier.so"), File.join(dir, "lib/vernier/"))
  dir
end

listener = ["-I", Bench.extension("listener", Bench::RUBY), "-rlistener"]

Bench.title "Cost of one sample for a listener",
  "instructions: valgrind --tool=callgrind $RUBY benchmark/programs/depth.rb DEPTH #{OBJECTS}, (listening - off) / calls"
rows = DEPTHS.flat_map do |depth|
  count = ->(env = {}, *how) { Bench.instructions(Bench::RUBY, "--disable=gems", *how, Bench.here("programs/depth.rb"), depth.to_s, OBJECTS.to_s, env: env) }
  alone = count[]
  [[512, 0], [1, 0], [1, 1]].map do |kib, follows|
    told = count[listening(kib * 1024, follows: follows), *listener]
    calls = told.output.to_i
    [depth, "#{kib}k#{", follows" if follows == 1}", calls, calls.zero? ? "" : (told.instructions - alone.instructions).fdiv(calls).round]
  end
end
Bench.table ["stack depth", "interval", "samples", "instructions a sample"], rows

Bench.title "Instructions of a mixed allocation loop beside listeners",
  "as in benchmark/run instructions, with N = #{LENGTHS[0]} less N = #{LENGTHS[1]}. A listener counts its calls, and does nothing else",
  "(benchmark/listener); one that follows is called for frees, too."
stock, off = per_round(Bench::STOCK_RUBY), per_round(Bench::RUBY)
rows = []
add = ->(name, figure, base) { rows << [name, figure.round(1), Bench.ratio(figure / base)] }
add["stock", stock, stock]
hook = ["-I", Bench.extension("newobj_hook", Bench::STOCK_RUBY), "-rnewobj_hook"]
add["stock, a NEWOBJ hook that does nothing", per_round(Bench::STOCK_RUBY, *hook), stock]
add["nobody listens", off, off]
[[512, {}], [512, { listeners: 8 }], [64, {}], [1, {}], [1, { follows: 1 }]].each do |kib, how|
  name = "#{how[:listeners] || "a"} listener#{"s" if how[:listeners]}#{" that follows" if how[:follows]}, #{kib}k"
  add[name, per_round(Bench::RUBY, *listener, env: listening(kib * 1024, **how)), off]
end
if Bench.gem?("vernier")
  script = ["-r", Bench.here("profilers/vernier.rb")]
  add["vernier as published, one in 10,000, on stock", per_round(Bench::STOCK_RUBY, *script, gems: true), stock]
  add["vernier with the patch, one in 10,000", per_round(Bench::RUBY, "-I", File.join(patched_vernier, "lib"), *script, gems: true), off]
end
Bench.table ["", "instructions a round", "ratio to its Ruby alone"], rows
