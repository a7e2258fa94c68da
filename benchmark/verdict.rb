# frozen_string_literal: true

# How often the verdict on a series of counts is right, on services that never ran and whose truth is known.
#
#   benchmark/run verdict                          # 40 runs of each shape, 64 points, a look after each
#   benchmark/run verdict -- --runs 100 --seed 7 --points drawn --shapes even,ttl
#   benchmark/run verdict -- --rule FILE           # another rule: FILE defines HeapSample::Verdict
require "json"
require "optparse"
require_relative "support"
require_relative "verdict/score"
require_relative "verdict/score_text"

options = { runs: 40, seed: 1, points: 64, shapes: Service.names }
rule = File.join(Bench::TOP, "src/lib/heapsample/diagnosis/verdict.rb")
OptionParser.new do |parser|
  parser.on("--runs N", Integer) { |runs| options[:runs] = runs }
  parser.on("--seed N", Integer) { |seed| options[:seed] = seed }
  parser.on("--points N", "a number, or drawn: 20 to 400, now and then 2,000") { |points| options[:points] = points == "drawn" ? nil : Integer(points) }
  parser.on("--shapes A,B", Array) { |names| options[:shapes] = names.map(&:to_sym).each { |name| Service.truth_of(name) } }
  parser.on("--rule FILE") { |file| rule = File.expand_path(file) }
end.parse!
abort "no rule in #{rule}: name a file that defines HeapSample::Verdict with --rule" unless File.exist?(rule)
require "heapsample"
require rule unless rule.end_with?("lib/heapsample/diagnosis/verdict.rb")

RubyVM::YJIT.enable if defined?(RubyVM::YJIT.enable)
score = Score.new(**options) { |series| HeapSample::Verdict.new(floor: series.floor) }.run
Bench.title "The verdict on series with known truth",
  "#{options[:runs]} runs of each of #{score.shapes.size} shapes, seed #{options[:seed]}, #{options[:points] || "20 to 400"} points, a look after each point.",
  "Figures are % of runs; all-clears are % of looks. benchmark/verdict/trial.rb defines each."
puts ScoreText.new(score).to_s
File.write(File.join(Bench::OUT, "verdict.json"), JSON.pretty_generate(score.to_h))
