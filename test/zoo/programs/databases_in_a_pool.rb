# Healthy: a connection pool (connection_pool) of at most 14 SQLite databases, which are opened when they are needed. More and more
# threads work at the same time until a third of the run; each database gets its page cache and its prepared statements.
#
# kind: steady
# also: bloat
# settles: 36%
# gems: connection_pool 2.5.0, sqlite3 2.10.2
require_relative "../load"
require "connection_pool"
require "sqlite3"

class Database
  def initialize
    @db = SQLite3::Database.new(":memory:")
    @db.execute("create table words (id integer primary key, word text)")
    @db.execute("insert into words (word) with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000) select 'word number ' || i from n")
    @statement = @db.prepare("select word from words where id between ? and ?")
  end

  def page(from)
    sleep 0.5
    @statement.execute(from, from + 20).to_a
  end
end

POOL = ConnectionPool.new(size: 14, timeout: 30) { Database.new }
JOBS = Thread::Queue.new
Array.new(14) { Thread.new { while (job = JOBS.pop) do POOL.with { |database| database.page(job % 19_000).map { |row| "<li>#{row.first}</li>" }.join } end } }
Load.run(->(second) { [second * 3 / Load::SECONDS, 1].min * 26 }) { |n| JOBS << n }
