# frozen_string_literal: true

# Judges the recorded series of the zoo: see run.
require "tap"
require_relative "../../zoo/archive"
require_relative "../../zoo/examiner"
require_relative "../../zoo/holder_score"
require_relative "../../zoo/score"
require_relative "../../zoo/table"
require_relative "reached"

# Reports a statement with its figures.
def check(name, holds, figures) = Tap.report(holds, "#{name}: #{figures}")

COUNTS = [5, 10, 14, 17, 20, 30, 60].freeze
keep = !ARGV.delete("--keep").nil?
whole = ARGV.empty? && !ENV["SERIES"]
named = ->(truth) { ARGV.empty? || ARGV.any? { |pattern| File.fnmatch?(pattern, truth["name"]) } }

def folders(root, truths)
  truths.to_h { |truth| [File.join(root, truth["name"]), truth] }.select { |folder, _| File.directory?(folder) }
end

judge = lambda do |root, truths|
  examinations = Examiner.examine(folders(root, truths)) { COUNTS unless ENV["EVERY"] }
  score = Score.new(examinations)
  puts Table.new(examinations).to_s.gsub(/^/, "# "), *[*score.lines, *HolderScore.new(examinations).lines].map { |line| "# #{line}" }
  silent = examinations.flat_map(&:warnings)
  check "each series gets an answer", silent.empty?, silent.empty? ? "#{examinations.size} of them" : "#{silent.size} without one: #{silent.first(5).join(", ")}"
  Reached.of(score).keep if keep && whole
  Reached.of(score).since(Reached.read) { |name, holds, figures| check name, holds, figures } if whole
end

if ENV["SERIES"]
  judge.call(ENV["SERIES"], Exhibit.all.map(&:truth).select(&named))
else
  truths = Archive.truths.select(&named)
  Archive.open(truths.map { |truth| truth["name"] }) { |root| judge.call(root, truths) }
end
Tap.finish
