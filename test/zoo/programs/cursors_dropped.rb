# Each request reads the first lines of a result by an Enumerator with "next" and leaves the rest. Nobody keeps the Enumerator: its fiber
# and stack are collected with it.
#
# kind: steady
# tuned: yes
# also: bloat
require_relative "../load"

class Result
  def initialize(number) = @number = number

  def rows
    Enumerator.new do |lines|
      buffer = Array.new(40) { |i| "row #{i} of query #{@number}" }
      buffer.each { |row| lines << row }
    end
  end
end

Load.run(40) do |n|
  rows = Result.new(n).rows
  Array.new(5) { rows.next }.join("\n")
end
