# Large: a server has the sheets of a company in memory, with 600,000 cells. A formula is compiled to an instruction
# sequence, and is stored under its text for the next time. The text has the numbers of its cells in it, and an edited
# formula has other ones, so the old ones are never used.
#
# kind: leak
# line: formula
# keeper: @compiled, FORMULAS, Formulas
# starts: 7
# rate: 740000
require_relative "../load"

class Sheet
  Cell = Struct.new(:value, :note, :format)
  attr_reader :name

  def initialize(name, rows)
    @name = name
    @cells = Array.new(rows) do |row|
      Array.new(10) { |column| Cell.new((row * 31) + column, "note on row #{row}, column #{column} of #{name}: #{"checked by the accounts " * 12}", "format #{row % 9}: #{"0" * 60}") }
    end
  end

  def [](row, column) = @cells[row % @cells.size][column].value
  def note(row, column) = @cells[row % @cells.size][column].note
end

class Formulas
  def initialize = @compiled = {}

  def value(text)
    code = @compiled[text] ||= RubyVM::InstructionSequence.compile(text, "formula") # LEAK KEEPER
    code.eval
  end
end

SHEETS = Array.new(60) { |i| Sheet.new("sheet #{i}", 1_000) }
FORMULAS = Formulas.new

# The formula of a row, as a user has edited it for this time.
def formula(number)
  row = number * 37 % 1_000
  terms = Array.new(6) { |i| "SHEETS[#{(number + i) % 60}][#{row + i}, #{(number + i) % 10}] * #{1 + (number % (i + 900))}" } # LEAK
  "(#{terms.join(" + ")}) / [#{number}, SHEETS[#{number % 60}][#{row}, 3]].max" # LEAK
end

Load.run(190) do |n|
  text = formula(n) # LEAK
  value = FORMULAS.value(text) # LEAK
  sheet = SHEETS[n % 60]
  rows = Array.new(50) { |i| "#{sheet.name} #{i}: #{sheet[n + i, i % 10]} (#{sheet.note(n + i, i % 10).capitalize})" }
  "#{value}\n#{rows.join("\n")}"
end
