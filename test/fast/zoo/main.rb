# frozen_string_literal: true

# Judges the recorded series of the zoo: see run.
require "tap"
require_relative "../../zoo/archive"
require_relative "../../zoo/examiner"
require_relative "../../zoo/score"
require_relative "../../zoo/table"
require_relative "reached"
require_relative "test_judgement"

COUNTS = ENV["EVERY"] ? nil : [3, 5, 8, 12, 16, 20].freeze
keep = !ARGV.delete("--keep").nil?

def folders(root, truths)
  truths.to_h { |truth| [File.join(root, truth["name"]), truth] }.select { |folder, _| File.directory?(folder) }
end

def check_none(name, found) = check(name, found.empty?, found.empty? ? "none" : found.join(", "))

def check_score(score, reached)
  score.shares.each { |name, (right, all)| check "#{name}: not fewer than before", right >= reached[name], "#{right} of #{all}, #{reached[name]} before" }
  check "healthy programs called a leak: not more than before", score.alarms.size <= reached.alarms, "#{score.alarms.join(", ")} (#{score.alarms.size}), #{reached.alarms} before"
end

def weaker(examinations)
  examinations.flat_map do |one|
    one.weakened.map { |count, before, after| "#{one.truth["name"]} after #{count}: #{before.kind} #{before.grade} became #{after.kind} #{after.grade}" }
  end
end

named = ->(truth) { ARGV.empty? || ARGV.any? { |pattern| File.fnmatch?(pattern, truth["name"]) } }

judge = lambda do |root, truths|
  examinations = Examiner.examine(folders(root, truths), counts: COUNTS)
  score = Score.new(examinations)
  puts Table.new(examinations).to_s.gsub(/^/, "# "), *score.lines.map { |line| "# #{line}" }
  Reached.new.keep(score) if keep
  check_none "each series gets an answer", examinations.flat_map(&:warnings).uniq
  check_score(score, Reached.new) if ARGV.empty?
  check_none "evidence that is added makes no right verdict weaker, nor another one", weaker(examinations)
end

if ENV["SERIES"]
  judge.call(ENV["SERIES"], Exhibit.all.map(&:truth).select(&named))
else
  truths = Archive.truths.select(&named)
  Archive.open(truths.map { |truth| truth["name"] }) { |root| judge.call(root, truths) }
end
Tap.finish
