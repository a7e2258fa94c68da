# Each import registers its converter of dates under a name of its own in CSV::Converters, the table of the whole process, with a
# closure that refers to the import.
#
# kind: leak
# line: csv
# keeper: CSV::Converters, Converters
# gems: csv 3.3.0
# rate: 49000
require_relative "../load"
require "csv"

class Import
  TEXT = Array.new(30) { |i| "article #{i},#{i * 3},2024-01-0#{(i % 9) + 1}" }.join("\n")

  def initialize(number) = (@number, @dates = number, {})

  def run
    name = :"dates_#{@number}"
    CSV::Converters[name] = ->(cell) { cell.start_with?("2024") ? @dates[cell] = "#{cell} in import #{@number}" : cell } # LEAK KEEPER
    @rows = CSV.parse(TEXT, converters: name).size # LEAK
  end
end

Load.run(30) { |n| Import.new(n).run } # LEAK
