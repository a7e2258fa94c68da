# Large: a report server loads a data warehouse at the start. Each report registers a finalizer on the one connection that all reports
# share, to close its cursor with the connection. The block of each finalizer refers to its report.
#
# kind: leak
# keeper: finalizer, define_finalizer
# starts: 6
# rate: 1900000
require_relative "../load"

class Warehouse
  def initialize = @columns = Array.new(60) { |column| Array.new(10_000) { |row| "value of row #{row} in column #{column} #{row * column} ".ljust(900, "-") } }
  def column(number) = @columns[number % @columns.size]
end

class Report
  def initialize(number, warehouse) = (@number, @cells = number, warehouse.column(number).values_at(*Array.new(180) { |i| (number * (i + 1)) % 10_000 }).map(&:upcase)) # LEAK
  def open(connection) = ObjectSpace.define_finalizer(connection, proc { close }) # LEAK KEEPER
  def close = @cells.clear
  def text = @cells.map { |cell| cell[0, 40] }.join("\n")
end

CONNECTION = Warehouse.new
Load.run(10) do |n|
  report = Report.new(n, CONNECTION) # LEAK
  report.open(CONNECTION) # LEAK
  report.text.lines.size
end
