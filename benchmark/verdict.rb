# frozen_string_literal: true

# How often the verdict on a series of counts is right, on services that never ran and whose truth is known.
#
#   benchmark/run verdict                          # 40 runs of each shape, 64 points, a look after each: half a minute
#   benchmark/run verdict -- --runs 100 --seed 7 --points drawn --shapes even,ttl
#   benchmark/run verdict -- --curves              # how small a leak is found after how many points: ten minutes
#   benchmark/run verdict -- --rule FILE           # another rule: FILE defines HeapSample::Verdict
#
# The figures are in build/bench/verdict.json as well, and in verdict-curves.json.
require "json"
require "optparse"
require_relative "support"
require_relative "verdict/curves"
require_relative "verdict/score"
require_relative "verdict/score_text"

options = { runs: 40, seed: 1 }
score_options = { points: 64, shapes: Service.names }
rule = File.join(Bench::TOP, "src/lib/heapsample.rb")
curves = false
OptionParser.new do |parser|
  parser.on("--runs N", Integer) { |runs| options[:runs] = runs }
  parser.on("--seed N", Integer) { |seed| options[:seed] = seed }
  parser.on("--points N", "a number, or drawn: 20 to 400, now and then 2,000") { |points| score_options[:points] = points == "drawn" ? nil : Integer(points) }
  parser.on("--shapes A,B", Array) { |names| score_options[:shapes] = names.map(&:to_sym).each { |name| Service.truth_of(name) } }
  parser.on("--curves") { curves = true }
  parser.on("--rule FILE") { |file| rule = File.expand_path(file) }
end.parse!
abort "no rule in #{rule}: name a file that defines HeapSample::Verdict with --rule" unless File.exist?(rule)
require "heapsample"
require rule unless rule.end_with?("lib/heapsample/diagnosis/verdict.rb")
RubyVM::YJIT.enable if defined?(RubyVM::YJIT.enable)

def keep(name, figures) = File.write(File.join(Bench::OUT, name), JSON.pretty_generate(figures))

def print_score(score)
  score.run
  Bench.title "The verdict on series with known truth",
    "#{score.runs} runs of each of #{score.shapes.size} shapes, seed #{score.seed}, #{score.points || "20 to 400"} points, a look after each point.",
    "Figures are % of runs; all-clears are % of looks. benchmark/verdict/trial.rb defines each."
  ScoreText.new(score).tables.each { |head, *rows| Bench.table(head, rows) }
  keep("verdict.json", score.to_h)
end

def cell(point) = point.half ? "#{point.half} / #{point.nearly_all || "more"}" : "more"

def print_curves(curves, options)
  Bench.title "After how many points an even leak is found", "#{options[:runs]} runs a figure, seed #{options[:seed]}; more: than #{Curves::MOST} points.",
    "expected: (200 noise / growth)^(2/3) points, at least 17, and until three quarters of the growth are 0.5% of RSS."
  normal, spiky = curves.by_noise, curves.by_noise(spikes: Curves::SPIKES)
  Bench.table ["noise / growth of a point", "half of the runs", "95%", "expected", "with spikes, half", "95%"],
    normal.map { |ratio, point| [ratio, point.half || "more", point.nearly_all || "more", point.formula, spiky[ratio].half || "more", spiky[ratio].nearly_all || "more"] }
  hourly = curves.by_hour
  puts "Points after which half of the runs and 95% are found, by growth in an hour (% of RSS), seconds between points, and noise (share of RSS)", ""
  Bench.table ["every, noise", *Curves::HOURLY.map { |percent| "#{percent}%" }], hourly.map { |(every, noise), points| ["#{every} s, #{noise}", *points.values.map { |point| cell(point) }] }
  keep("verdict-curves.json", { **options, normal: normal.transform_values(&:to_h), spikes: spiky.transform_values(&:to_h),
                                hourly: hourly.map { |(every, noise), points| { every: every, noise: noise, percent: points.transform_values(&:to_h) } } })
end

if curves
  print_curves(Curves.new(**options) { |floor| HeapSample::Verdict.new(floor: floor) }, options)
else
  print_score(VerdictScore.new(**options, **score_options) { |series| HeapSample::Verdict.new(floor: series.floor) })
end
