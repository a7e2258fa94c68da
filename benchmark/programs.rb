# Time of whole programs: stock, off, on; and stock against stock, which shows the noise of the others.
require_relative "support"

PAIRS = Integer(ENV["PAIRS"] || 11)
abort "asciidoctor does not install: see build/bench/gem-asciidoctor.log" unless Bench.gem?("asciidoctor")

libdir = Bench.run(Bench::STOCK_RUBY, "-rrbconfig", "-e", "print RbConfig::CONFIG['rubylibdir']")
PROGRAMS = {
  "rdoc" => [Bench.here("programs/rdoc.rb"), libdir],
  "asciidoctor" => [Bench.here("programs/asciidoctor.rb"), "60"],
}.freeze

Bench.title "Time of whole programs",
  "$RUBY OPTIONS benchmark/programs/rdoc.rb LIBDIR; …/asciidoctor.rb 60; YJIT off and on.",
  "User and system time of #{PAIRS} rounds; in a round each configuration runs once, in rotating order.",
  "Ratio to stock round by round: median, and the range of the middle half."

rows = PROGRAMS.flat_map do |name, script|
  [%w[--disable=yjit], %w[--yjit]].flat_map do |jit|
    run = ->(ruby, *options) { -> { Bench.cpu_seconds { Bench.run(ruby, *jit, *options, *script) } } }
    configurations = {
      "stock" => run[Bench::STOCK_RUBY],
      "stock again (control)" => run[Bench::STOCK_RUBY],
      "off" => run[Bench::RUBY],
      "on, 512k" => run[Bench::RUBY, *Bench.sampling("512k")],
      "on, 512k, malloc too" => run[Bench::RUBY, *Bench.sampling("512k", malloc: "512k")],
      "on, 64k" => run[Bench::RUBY, *Bench.sampling("64k")],
    }
    configurations.each_value(&:call) # files into the page cache
    times = Bench.interleaved(PAIRS, configurations)
    times.map do |configuration, seconds|
      middle, low, high = Bench.ratios(seconds, times["stock"])
      ["#{name}#{jit == %w[--yjit] ? " (YJIT)" : ""}: #{configuration}", format("%.3f s", Bench.median(seconds)),
       Bench.ratio(middle), "#{Bench.ratio(low)}..#{Bench.ratio(high)}"]
    end
  end
end
Bench.table ["", "time", "ratio", "middle half"], rows

ROUNDS = "20"
script = [Bench.here("programs/asciidoctor.rb"), ROUNDS]
counts = {
  "stock" => [Bench::STOCK_RUBY], "off" => [Bench::RUBY],
  "on, 512k" => [Bench::RUBY, *Bench.sampling("512k")],
  "on, 512k, malloc too" => [Bench::RUBY, *Bench.sampling("512k", malloc: "512k")], "on, 64k" => [Bench::RUBY, *Bench.sampling("64k")],
}.transform_values { |ruby, *options| Bench.instructions(ruby, *options, *script) }
Bench.title "Instructions of a whole program",
  "setarch -R valgrind --tool=callgrind --callgrind-out-file=/dev/null $RUBY OPTIONS benchmark/programs/asciidoctor.rb #{ROUNDS}",
  "Start and end included, YJIT off. A collection more or less is worth up to half a per cent."
Bench.table ["", "million instructions", "ratio", "GCs"], counts.map { |name, count|
  [name, format("%.1f", count.instructions / 1e6),
   Bench.ratio(count.instructions.fdiv(counts["stock"].instructions)), count.output]
}
