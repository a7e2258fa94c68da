# Readings of sensors go into a database of SQLite in memory. Each second what is older than six seconds is deleted: the table grows for
# six seconds, and then SQLite uses the pages again that have got free.
#
# kind: steady
# tuned: yes
# also: bloat
# settles: 9
# gems: sqlite3 2.10.2
require_relative "../load"
require "sqlite3"

class Readings
  KEEP = 6

  def initialize
    @db = SQLite3::Database.new(":memory:")
    @db.execute("create table readings (at real, sensor text, note text)")
    @db.execute("create index times on readings (at)")
    @swept = 0
  end

  def add(sensor, note)
    @db.execute("insert into readings (at, sensor, note) values (?, ?, ?)", [Load.seconds, sensor, note])
    sweep if Load.seconds - @swept > 1
  end

  def sweep
    @swept = Load.seconds
    @db.execute("delete from readings where at < ?", [@swept - KEEP])
  end

  def last(count) = @db.execute("select sensor, note from readings order by at desc limit ?", [count])
end

READINGS = Readings.new

Load.run(300) do |n|
  READINGS.add("sensor #{n % 40}", "reading #{1_000_000 + n}: " * 60)
  READINGS.last(20).map(&:join) if n % 20 == 0
end
