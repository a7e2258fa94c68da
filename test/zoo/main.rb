# frozen_string_literal: true

# Records the programs of the zoo, or those whose names are given, lets the diagnosis judge them, and prints the table and
# its sums: see run.
require_relative "gem_folder"
require_relative "recorder"
require_relative "examiner"
require_relative "score"
require_relative "table"
require_relative "../testing"

class ZooTest < Test; end

ruby = ENV.fetch("RUBY") { RbConfig.ruby }
build = File.expand_path("../../build/zoo", __dir__)
patterns = ARGV.empty? ? ["*"] : ARGV.slice!(0..) # minitest has its own
exhibits = Exhibit.all.select { |exhibit| patterns.any? { |pattern| File.fnmatch?(pattern, exhibit.name) } }
abort "no program is named #{patterns.join(", ")}" if exhibits.empty?

gems = GemFolder.new(File.join(build, "gems"), ruby: ruby).tap { |folder| folder.install(exhibits) }
recorder = Recorder.new(ruby: ruby, gems: gems.path, into: File.expand_path(ENV["INTO"] || File.join(build, "series")), beside: Integer(ENV["BESIDE"] || 4))
failed = []
recorder.record(exhibits) do |exhibit, good|
  warn "#{exhibit.name}: #{Dir.children(recorder.folder(exhibit)).size} profiles#{"; it failed: #{recorder.log(exhibit)}" unless good}"
  failed << exhibit.name unless good
end
ZooTest.measured "each program runs to its end", failed.empty?, failed.empty? ? "#{exhibits.size} of them" : failed.join(", ")
exit if ENV["RECORD"]

recorded = exhibits.reject { |exhibit| failed.include?(exhibit.name) }
examinations = Examiner.examine(recorded.to_h { |exhibit| [recorder.folder(exhibit), exhibit.truth] })
score = Score.new(examinations)
silent = examinations.flat_map(&:warnings)
ZooTest.measured "each series gets an answer", silent.empty?, silent.empty? ? "#{examinations.size} of them" : silent.join(", ")
puts Table.new(examinations).to_s.gsub(/^/, "# "), *score.lines.map { |line| "# #{line}" }
score.shares.each do |name, (right, all)|
  ZooTest.measured "#{name}: #{(Score::TARGETS[name] * 100).round}% are wanted", all.zero? || right >= Score::TARGETS[name] * all, "#{right} of #{all}"
end
{ "no healthy program is called a leak" => score.alarms, "no growing program is called fine" => score.wrong, "no leak is taken back" => score.taken_back }
  .each { |name, found| ZooTest.measured name, found.empty?, found.empty? ? "none" : found.join(", ") }
