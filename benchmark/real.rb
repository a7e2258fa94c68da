# What sampling costs on real programs: processor time, memory and collections.
#
#   benchmark/run real -- [OPTION…]
#
# RUBY_BENCH=FOLDER runs the programs of a checkout of ruby/ruby-bench as well. A run that was stopped goes on where
# it was: results are kept, one line a run, by program, configuration, round and build.
require "optparse"
require_relative "real/results"

wanted = { rounds: 5, work: 1.0, results: File.join(Real::OUT, "results.jsonl") }
programs = Real::OWN + (Real::RubyBench::FOLDER ? Real::THEIRS : [])
configurations = Real::CONFIGURATIONS

# The members of `all` that a list names.
chosen = lambda do |all, names|
  names.map { |name| all.find { |one| one.name == name } or abort "no #{name}; there are #{all.map(&:name).join(", ")}" }
end
OptionParser.new do |options|
  options.banner = "Usage: benchmark/run real -- [OPTION…]"
  options.on("--setup", "install the gems and end") { wanted[:setup] = true }
  options.on("--table", "print what was measured and end") { wanted[:table] = true }
  options.on("--programs A,B", Array, "of #{programs.map(&:name).join(", ")}") { |names| programs = chosen[programs, names] }
  options.on("--configurations A,B", Array, "of #{configurations.map(&:name).join(", ")}") { |names| configurations = chosen[configurations, names] }
  options.on("--rounds N", Integer, "how often each is run (5)") { |n| wanted[:rounds] = n }
  options.on("--work F", Float, "a part of the work, such as 0.1, to see that all runs (1)") { |part| wanted[:work] = part }
  options.on("--results FILE", "where results are kept (build/bench/real/results.jsonl)") { |file| wanted[:results] = File.expand_path(file) }
end.parse!(ARGV)

theirs, own = programs.partition { |program| program.is_a?(Real::RubyBench) }
unless wanted[:table]
  Real::Setup.own unless own.empty?
  programs = own + Real::Setup.theirs(theirs)
  exit if wanted[:setup]
end

amount = ->(program) { [(program.amount * wanted[:work]).round, 1].max }
results = Real::Results.new(wanted[:results])

# All configurations of a round one after the other, each round in an order of its own.
measure = lambda do |program, round|
  configurations.shuffle(random: Random.new(round)).each do |configuration|
    next if results.done?(program, configuration, round, amount[program])
    objects = Digest::SHA256.hexdigest("#{program.name} #{configuration.name} #{round}").hex % 6000
    figures = program.measure(configuration, amount[program], objects)
    results.add(program, configuration, round, amount[program], figures)
    warn "#{program.name}, round #{round}, #{configuration.name}: #{format(program.cpu_format, figures["cpu"])} #{program.cpu_label[/\w+\z/]}"
  end
end
unless wanted[:table]
  (1..wanted[:rounds]).each { |round| programs.each { |program| measure[program, round] } }
end

Bench.title "Real programs with YJIT",
  "$RUBY --yjit OPTIONS, whole processes with their start. Each round draws the order of the configurations, and each run",
  "how many objects are made first, which decides where collections fall (doc/benchmarks.md).",
  "Ratios are round by round: median, and its 95% interval (bootstrap). own: the sampler's memory at the end."
programs.each do |program|
  found = results.of(program, amount[program])
  Real::Sheet.new(program, found).print unless found.empty?
end
