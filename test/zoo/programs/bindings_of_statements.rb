# Large: a Ruby process serves letters from a SQLite database in memory, filled at the start. Each search prepares a statement and binds
# its text; the statements are appended to the list of the store and are never closed. SQLite has malloc'ed copies of the texts.
#
# kind: native
# also: leak
# line: sqlite3
# keeper: @open, STORE, LetterStore
# gems: sqlite3 2.10.2
# starts: 8
# rate: 1600000
require_relative "../load"
require "sqlite3"

class LetterStore
  def initialize(count)
    @database = SQLite3::Database.new(":memory:")
    @database.execute("create table letters (id integer primary key, subject text, body text)")
    @database.execute(<<~SQL, [count])
      with recursive numbers(i) as (select 0 union all select i + 1 from numbers where i < ?)
      insert into letters select i, 'subject ' || i, 'letter ' || i || hex(zeroblob(2500)) from numbers
    SQL
    @open = []
  end

  def search(text, number)
    statement = @database.prepare("select subject from letters where id = ? and length(body) < length(?)") # LEAK
    @open << statement # LEAK KEEPER
    statement.bind_params(number % 70_000, text) # LEAK
    statement.execute.first
  end
end

STORE = LetterStore.new(70_000)
NAMES = Array.new(60_000) { |i| { id: i, name: "customer #{i}", address: "street #{i % 800}, city #{i % 90}" } }
Load.run(40) do |n|
  STORE.search("a text that a customer has copied into the form of search #{n}; " * 240, n) # LEAK
  NAMES.values_at(*Array.new(50) { |i| n * (i + 1) % NAMES.size }).map { |one| one[:name].upcase }
end
