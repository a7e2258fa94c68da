# Each import takes a lock and removes it in an at_exit block, although the process runs for months. The block refers to the rows of
# the import.
#
# kind: leak
# keeper: at_exit, end_proc, end proc
# rate: 340000
require_relative "../load"

class Import
  LOCKS = {}

  def initialize(number)
    @number = number
    @rows = Array.new(80) { |i| "#{number};article #{i};#{i * 1.5}" } # LEAK
    LOCKS[number] = true
    at_exit do # LEAK KEEPER
      LOCKS.delete(@number)
    end
  end

  def run
    total = @rows.sum { |row| row.split(";").last.to_f }
    LOCKS.delete(@number)
    total
  end
end

Load.run(45) do |n|
  Import.new(n).run # LEAK
  Array.new(150) { |i| "progress of import #{n}: #{i}" }.join("\n")
end
