# A notebook evaluates cells in one binding. Each cell puts its result in a local variable of its own, as "out_17", so that later cells can
# use it; the binding keeps all the results of the session.
#
# kind: leak
# line: notebook-cell
# keeper: binding
# rate: 1100000
require_relative "../load"

class Notebook
  def initialize
    @session = Object.new.instance_eval { binding }
    @count = 0
  end

  def run(code)
    @count += 1
    name = :"out_#{@count}"
    @session.local_variable_set(name, @session.eval(code, "notebook-cell")) # LEAK KEEPER
  end
end

MEASURED = Array.new(20_000) { |i| { station: i % 200, at: i, mm: (i * 37 % 91) / 3.0 } }
CELLS = [
  "MEASURED.select { |row| row[:station] < 60 }.map { |row| row.merge(inch: row[:mm] / 25.4) }.first(1_800)",
  "MEASURED.group_by { |row| row[:station] }.transform_values { |rows| rows.first(22).map { |row| format('%05.1f mm at %d', row[:mm], row[:at]) } }",
  "MEASURED.each_slice(7).map { |rows| rows.sum { |row| row[:mm] } }.map { |sum| \"week of \#{sum.round(2)} mm\" }"
].freeze

NOTEBOOK = Notebook.new
Load.run(120) do |n|
  NOTEBOOK.run(CELLS[n / 24 % CELLS.size]) if n % 24 == 0 # LEAK
  MEASURED.map { |row| row[:mm] + n }.each_slice(50).map { |slice| slice.max.round(1).to_s }.join(" ").size
end
