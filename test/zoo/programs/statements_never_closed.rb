# A search page prepares its query with the words in the text, and keeps the prepared statement for the next time that somebody looks
# for the same: words without end. A statement is a small Ruby object; its program is in SQLite's own memory. The mended program closes it.
#
# kind: native
# tuned: yes
# also: leak
# line: sqlite3/
# keeper: @statements
# gems: sqlite3 2.10.2
# mended: sqlite3 2.10.2
require_relative "../load"
require "sqlite3"

class Search
  def initialize
    @db = SQLite3::Database.new(":memory:")
    @db.execute("create table articles (id integer primary key, title text, body text, price integer)")
    @db.execute("create index titles on articles (title, price)")
    100.times { |i| @db.execute("insert into articles (title, body, price) values (?, ?, ?)", ["article #{i}", "body " * 20, i]) }
    @statements = {}
  end

  def find(words)
    sql = "select title, price from articles where title in (#{words.map { |word| "'#{word}'" }.join(", ")}) or price in " \
          "(select max(price) from articles where title > '#{words.first}' group by price % 7) order by price, title limit 10"
    return once(sql) if ENV["ZOO_MENDED"] == "1"

    statement = @statements[sql] ||= prepare(sql) # KEEPER
    statement.reset!
    statement.to_a
  end

  def prepare(sql) = @db.prepare(sql) # LEAK
  def once(sql) = @db.prepare(sql) { |statement| statement.to_a }
end

SEARCH = Search.new

Load.run(30) { |n| SEARCH.find(Array.new(6) { |i| "article #{n + i}" }) }
