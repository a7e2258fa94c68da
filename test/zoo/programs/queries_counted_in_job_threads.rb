# A library finds queries that are made once for each record, in place of once for all. It notes the records that the
# queries of a request return, by the place in the code, in a variable of the thread; a middleware clears it after
# each request. The jobs of an import make the same queries in three threads of their own, where nothing clears it.
#
# kind: leak
# keeper: query_watch, Thread
# rate: 2100000
require_relative "../load"

Record = Struct.new(:table, :id, :attributes)

module QueryWatch
  Seen = Struct.new(:queries, :records)

  module_function

  def start = Thread.current.thread_variable_set(:query_watch, {}) # LEAK
  def stop = Thread.current.thread_variable_set(:query_watch, nil)

  def note(query, records)
    watch = Thread.current.thread_variable_get(:query_watch) || start # LEAK
    place = caller_locations(2, 1).first
    seen = watch["#{place.path}:#{place.lineno}"] ||= Seen.new([], []) # LEAK
    seen.queries << query # LEAK KEEPER
    seen.records.concat(records) # LEAK KEEPER
  end

  # Places with more than three queries.
  def report
    Thread.current.thread_variable_get(:query_watch).to_h.select { |_, seen| seen.queries.size > 3 }.transform_values { |seen| seen.records.size }
  end
end

class Table
  def initialize(name, columns)
    @name = name
    @columns = columns
  end

  def where(condition, limit)
    ids = Array.new(limit) { |i| condition * (i + 7) % 900_000 }
    records = ids.map { |id| Record.new(@name, id, row(id)) } # LEAK
    QueryWatch.note("SELECT * FROM #{@name} WHERE id IN (#{ids.join(", ")}) ORDER BY id LIMIT #{limit}", records) # LEAK
    records
  end

  private

  def row(id) = @columns.to_h { |column| [column, "#{column} of #{@name} #{id}: #{"brown, with a handle, " * (6 + (id % 9))}"] } # LEAK
end

ARTICLES = Table.new("articles", %w[title text maker colour])
PRICES = Table.new("prices", %w[cents currency rebate])

class Import
  def run(number)
    articles = ARTICLES.where(number, 6) # LEAK
    articles.sum { |article| PRICES.where(article.id, 1).sum { |price| price.attributes["cents"].bytesize } } # LEAK
  end
end

class Middleware
  def initialize(&app) = @app = app

  def call(number)
    QueryWatch.start
    @app.call(number)
    QueryWatch.report
  ensure
    QueryWatch.stop
  end
end

jobs = Thread::Queue.new
import = Import.new
threads = Array.new(3) { Thread.new { loop { import.run(jobs.pop) } } } # LEAK
web = Middleware.new { |number| ARTICLES.where(number, 10).map { |article| article.attributes["title"] } }
places = Hash.new(0)

Load.run(150) do |n|
  jobs << n
  web.call(n).each { |place, records| places[place] += records }
  threads.each(&:join) if threads.none?(&:alive?)
end
