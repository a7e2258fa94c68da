# frozen_string_literal: true

# Records the programs of the zoo, or those whose names are given, lets the diagnosis judge them, and prints the table and
# its sums: see run.
require "optparse"
require_relative "gem_folder"
require_relative "recorder"
require_relative "examiner"
require_relative "holder_score"
require_relative "score"
require_relative "table"
require_relative "../testing"

class ZooTest < Test; end

options = { every: Header::EVERY, load: 0, jobs: 3 }
OptionParser.new do |parser|
  parser.banner = "Usage: test/zoo/run [OPTION…] [NAME…]"
  parser.on("--every SECONDS", Integer, "a profile every so many seconds (2)")
  parser.on("--load N", Integer, "so many busy loops beside the programs (0)")
  parser.on("--seconds N", Integer, "how long each program runs; its heading has the usual time")
  parser.on("--jobs N", Integer, "so many programs at the same time (3)")
  parser.on("--record", "record only, do not judge")
end.parse!(ARGV, into: options)

ruby = ENV.fetch("RUBY") { RbConfig.ruby }
build = File.expand_path("../../build/zoo", __dir__)
patterns = ARGV.empty? ? ["*"] : ARGV.slice!(0..) # minitest has its own
form = Form.new(**options.slice(:every, :load, :seconds))
named = Exhibit.all.select { |exhibit| patterns.any? { |pattern| File.fnmatch?(pattern, exhibit.name) } }
abort "no program is named #{patterns.join(", ")}" if named.empty?
exhibits = form.select(named)
abort "none of these programs has #{form.every} in its heading (# every: #{form.every})" if exhibits.empty?

gems = GemFolder.new(File.join(build, "gems"), ruby: ruby).tap { |folder| folder.install(exhibits) }
recorder = Recorder.new(ruby: ruby, gems: gems.path, into: File.expand_path(ENV["INTO"] || File.join(build, "series")), form: form, jobs: options[:jobs])
failed = []
recorder.record(exhibits) do |exhibit, good|
  warn "#{exhibit.name}: #{Dir.children(recorder.folder(exhibit)).size} profiles#{"; it failed: #{recorder.log(exhibit)}" unless good}"
  failed << exhibit.name unless good
end
ZooTest.measured "each program runs to its end", failed.empty?, failed.empty? ? "#{exhibits.size} of them" : failed.join(", ")
exit if options[:record]

recorded = exhibits.reject { |exhibit| failed.include?(exhibit.name) }
examinations = Examiner.examine(recorded.to_h { |exhibit| [recorder.folder(exhibit), recorder.truth(exhibit)] })
score = Score.new(examinations)
holders = HolderScore.new(examinations)
silent = examinations.flat_map(&:warnings)
ZooTest.measured "each series gets an answer", silent.empty?, silent.empty? ? "#{examinations.size} of them" : silent.join(", ")
puts Table.new(examinations).to_s.gsub(/^/, "# "), *[*score.lines, *holders.lines].map { |line| "# #{line}" }
score.shares.each do |name, (right, all)|
  ZooTest.measured "#{name}: #{(Score::TARGETS[name] * 100).round}% are wanted", all.zero? || right >= Score::TARGETS[name] * all, "#{right} of #{all}"
end
{ "no healthy program is called a leak" => score.alarms, "no growing program is called fine" => score.wrong, "no leak is taken back" => score.taken_back }
  .each { |name, found| ZooTest.measured name, found.empty?, found.empty? ? "none" : found.join(", ") }
ZooTest.measured "what retains a leak is named: #{(HolderScore::WANTED * 100).round}% are wanted", holders.enough?, holders.named.join(" of ")
ZooTest.measured "no heap walk stops a program for more than #{(HolderScore::LONGEST_STOP * 1000).round} ms", holders.short?, holders.longest ? holders.stop : "no walk"
