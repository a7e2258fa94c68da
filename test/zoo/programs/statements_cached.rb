# Healthy: a driver keeps prepared statements of SQLite in an LRU cache of 400, and closes the one that it drops. The texts of
# the statements differ in the number of their values.
#
# kind: steady
# also: bloat
# settles: 10
# gems: sqlite3 2.10.2
require_relative "../load"
require "sqlite3"

class Driver
  def initialize
    @db = SQLite3::Database.new(":memory:")
    @db.execute("create table items (id integer primary key, name text, price integer)")
    500.times { |i| @db.execute("insert into items (name, price) values (?, ?)", ["item #{i}", i]) }
    @statements = {}
  end

  def select(ids)
    sql = "select name, price from items where id in (#{(["?"] * ids.size).join(", ")}) order by price limit #{ids.first % 40 + 1}"
    statement = @statements.delete(sql) || @db.prepare(sql)
    @statements[sql] = statement
    @statements.shift.last.close if @statements.size > 400
    statement.execute(ids).to_a
  end
end

DRIVER = Driver.new
RANDOM = Random.new(2)
Load.run(60) { |_| DRIVER.select(Array.new(1 + RANDOM.rand(60)) { RANDOM.rand(500) }).map { |name, price| "<li>#{name}: #{price}</li>" }.join }
