# sqlite3 2.9.5 never lets go of the instances of a custom aggregate: its C extension keeps one object for each group and
# query in an Array that hangs off the connection (sqlite3-ruby #722). 2.10.2 does.
#
# kind: leak
# tuned: yes
# line: sqlite3/
# keeper: sqlite3/, aggregators of SQLite3::Database
# gems: sqlite3 2.9.5
# mended: sqlite3 2.10.2
require_relative "../load"
require "sqlite3"

class Median
  def self.arity = 1
  def self.text_rep = 1
  def self.name = "median"
  def initialize = @values = [] # LEAK
  def step(_context, value) = @values << value # LEAK
  def finalize(context) = context.result = @values.sort[@values.size / 2]
end

DB = SQLite3::Database.new(":memory:")
DB.create_aggregate_handler(Median)
DB.execute("create table t (g int, v int)")
DB.transaction { 200.times { |i| DB.execute("insert into t values (?, ?)", [i % 40, i]) } }

def statistics = DB.execute("select g, median(v) from t group by g").sum { |_, median| median } # LEAK KEEPER

Load.run(80) do
  statistics
  Array.new(1000) { |i| "row #{i}" * 3 }
end
