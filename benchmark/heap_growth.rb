# Why interruptions enlarge a heap under YJIT: a postponed job that does nothing, on the Ruby as released.
require_relative "real/programs"

ROUNDS = Integer(ENV["ROUNDS"] || 5)
READS = "6".freeze
SCRIPT = Bench.here("programs/reads.rb")
Real::Setup.own

def job(every) = { "BENCH_JOB_EVERY" => every.to_s }
JOB = ["-r", File.join(Bench.extension("postponed_job", Bench::STOCK_RUBY), "postponed_job.so")].freeze
BOTH = "--heap-sample=output=none,interval=512k,malloc=512k".freeze

# Name => ruby, options, environment.
CONFIGURATIONS = {
  "stock" => [Bench::STOCK_RUBY, ["--yjit"], {}],
  "stock again (control)" => [Bench::STOCK_RUBY, ["--yjit"], {}],
  "stock, a job each 10 ms" => [Bench::STOCK_RUBY, ["--yjit", *JOB], job(10_000)],
  "stock, a job each ms" => [Bench::STOCK_RUBY, ["--yjit", *JOB], job(1000)],
  "stock without YJIT" => [Bench::STOCK_RUBY, ["--disable=yjit"], {}],
  "stock without YJIT, a job each ms" => [Bench::STOCK_RUBY, ["--disable=yjit", *JOB], job(1000)],
  "off" => [Bench::RUBY, ["--yjit"], {}],
  "on, 512k, slots and malloc" => [Bench::RUBY, ["--yjit", BOTH], {}],
}.freeze

# One run; in a round all begin with as many objects, another number each round (real/prelude.rb).
def run(ruby, options, environment, round, *mode)
  environment = Real::Setup.environment.merge(environment, "BENCH_OBJECTS" => (round * 411).to_s)
  Bench.run(ruby, *options, "-r", Real::PRELUDE, "-rbundler/setup", SCRIPT, READS, *mode, env: environment)
end

Bench.title "Heap of a program that is interrupted",
  "$STOCK_RUBY --yjit -r postponed_job.so benchmark/programs/reads.rb #{READS}, #{ROUNDS} rounds; the job is an empty function.",
  "Medians, and for heap pages least..most. marked: objects that a collection found alive, median and most.",
  "posts kept: what collections at the start of a read left of earlier reads (reads.rb … count), share of the reads."
rows = CONFIGURATIONS.map do |name, (ruby, options, environment)|
  figures = (1..ROUNDS).map { |round| run(ruby, options, environment, round).split.map(&:to_f) }
  gc, pages, rss, marked, most = figures.transpose
  tally = run(ruby, options, environment, 1, "count").scan(/(\d+): (\d+)/).map { |pair| pair.map(&:to_i) }
  kept = tally.select { |posts, _| posts >= 100 }.sum { |_, times| times }.fdiv(tally.sum { |_, times| times })
  [name, Bench.median(gc).round, Bench.median(pages).round, "#{pages.min.round}..#{pages.max.round}",
   format("%.1f", Bench.median(rss) / 1024), Bench.median(marked).round, Bench.median(most).round, "#{(100 * kept).round}%"]
end
Bench.table ["", "GCs", "heap pages", "range", "max RSS, MiB", "marked", "most", "posts kept"], rows
