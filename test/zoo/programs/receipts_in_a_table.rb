# A till hands its receipts to the tax office through an outbox, a table in a SQLite database in memory. A receipt that
# has been sent is marked with a number, and a job deletes the marked ones. Since the last release the number is
# another one (sent and confirmed), but the job still looks for the old one. SQLite has malloc'ed the pages of the
# table.
#
# kind: native
# also: leak
# line: sqlite3
# keeper: @database, OUTBOX, Outbox
# gems: sqlite3 2.10.2
# rate: 1610000
require_relative "../load"
require "json"
require "sqlite3"

class Outbox
  def initialize
    @database = SQLite3::Database.new(":memory:") # KEEPER
    @database.execute_batch("CREATE TABLE receipts (id INTEGER PRIMARY KEY, sent INTEGER, body TEXT); CREATE INDEX unsent ON receipts (sent) WHERE sent = 0;")
    @insert = @database.prepare("INSERT INTO receipts (sent, body) VALUES (0, ?)")
    @waiting = @database.prepare("SELECT id, body FROM receipts WHERE sent = 0 ORDER BY id LIMIT 20")
    @mark = @database.prepare("UPDATE receipts SET sent = 2 WHERE id = ?")
    @delete = @database.prepare("DELETE FROM receipts WHERE sent = 1")
  end

  def put(body)
    @insert.execute(body) # LEAK
  end

  # Yields the body of each receipt that was not sent.
  def send_waiting
    @waiting.execute.to_a.each do |id, body|
      yield body
      @mark.execute(id)
    end
  end

  def clean_up = @delete.execute
end

OUTBOX = Outbox.new

def receipt(number)
  lines = Array.new(25) { |i| { article: "article #{number * (i + 31) % 9_000}", pieces: 1 + (i % 3), price: number * i % 977, tax: 20, text: "bought at the counter of the shop in street #{i}" } }
  JSON.generate({ number: number, till: number % 40, lines: lines })
end

sent = 0
Load.run(360) do |n|
  OUTBOX.put(receipt(n)) # LEAK
  OUTBOX.send_waiting { |body| sent += body.bytesize } if n % 10 == 0
  OUTBOX.clean_up if n % 3_000 == 0
end
