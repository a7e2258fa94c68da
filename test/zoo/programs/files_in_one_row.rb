# A tool follows the log of a web server, which rotates every few hundred milliseconds under much traffic. For the report at the end it puts
# the entries of each file behind those of the earlier ones, as one Enumerator (Enumerator#+), so the whole row of files stays.
#
# kind: leak
# keeper: @all, REPORT
# rate: 2050000
require_relative "../load"

Entry = Data.define(:address, :path, :status, :took, :agent)

class LogFile
  include Enumerable

  def initialize(lines)
    @entries = lines.map { |line| parse(line) }.reject { |entry| entry.path.start_with?("/health") } # LEAK
  end

  def each(&) = @entries.each(&)

  private

  def parse(line)
    match = line.match(/\A(?<address>\S+) "(?<path>\S+)" (?<status>\d+) (?<took>\d+) (?<agent>.+)\z/)
    Entry.new(address: match[:address], path: match[:path], status: match[:status].to_i, took: match[:took].to_i, agent: match[:agent]) # LEAK
  end
end

class Report
  def initialize = @all = [].each
  def add(file) = @all += file.each_entry # LEAK KEEPER
  def print = @all.sum(&:took)
end

REPORT = Report.new
def line(i) = i % 3 == 0 ? visit(i) : "10.0.0.#{i % 4} \"/health?from=balancer#{i % 4}\" 200 #{i % 5} Balancer/2.1"
def browser(i) = "Browser/#{i % 40}.0 (System #{i % 11}; rv:#{i % 120}) Engine/2024 like all others"
def visit(i) = "10.#{i % 250}.#{i % 90}.#{i % 17} \"/shop/articles/#{i * 7919 % 30_000}/pictures?page=#{i % 9}\" #{i % 30 == 0 ? 404 : 200} #{i * 31 % 900} #{browser(i)}"

Load.run(10) do |n|
  lines = Array.new(1_650) { |i| line((n * 1_650) + i) }
  file = LogFile.new(lines) # LEAK
  slow = file.group_by { |entry| entry.path[/\d+/] }.transform_values { |entries| entries.sum(&:took) }.sort_by { |_, took| -took }
  4.times { |shop| slow.first(300).map { |article, took| "shop #{shop}, article #{article.rjust(6, "0")}: #{took} ms, #{lines.size} lines" }.join("\n") }
  REPORT.add(file) # LEAK
end
