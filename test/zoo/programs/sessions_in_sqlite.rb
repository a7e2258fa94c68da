# Healthy: a server has its sessions in a SQLite database in memory, 110,000 of them from the start. A login inserts a session, and the oldest
# one is deleted, so that SQLite has as many pages as before and uses them again.
#
# kind: steady
# also: bloat, fragmentation
# gems: sqlite3 2.10.2
# settles: 12
require_relative "../load"
require "sqlite3"
require "json"

class Sessions
  def initialize(count)
    @db = SQLite3::Database.new(":memory:")
    @db.execute("create table sessions (id integer primary key, user integer, data text)")
    @db.execute("create index users on sessions (user)")
    @insert = @db.prepare("insert into sessions (user, data) values (?, ?)")
    @delete = @db.prepare("delete from sessions where id = (select min(id) from sessions)")
    @find = @db.prepare("select id, data from sessions where user = ? order by id desc limit 3")
    @db.transaction { count.times { |i| log_in(i) } }
  end

  def log_in(user) = @insert.execute(user % 20_000, data(user))

  def log_out_oldest = @delete.execute

  def of(user) = @find.execute(user).map { |id, data| [id, JSON.parse(data)] }

  private

  def data(user)
    seen = Array.new(20) { |i| "/articles/#{(user * (i + 1)) % 9_000}?from=page-#{i}" }
    JSON.generate(name: "user #{user}", seen: seen, basket: Array.new(8) { |i| [user * i % 700, "article in the basket", i] })
  end
end

SESSIONS = Sessions.new(110_000)

Load.run(280) do |n|
  SESSIONS.log_in(n)
  SESSIONS.log_out_oldest
  24.times { |i| SESSIONS.of((n * 31 * (i + 1)) % 20_000).map { |id, data| "#{id}: #{data["seen"].join(" ")}" } }
end
