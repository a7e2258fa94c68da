# Large: countries, cities and tariffs are loaded as Active Records at the start. A subscriber of ActiveSupport::Notifications collects
# all events of queries in an Array, to find slow ones in the development environment; it is on in production.
#
# kind: leak
# line: active_support/notifications, active_record/, active_model/, sqlite3/
# keeper: @events, QueryLog, SLOW_QUERIES
# gems: activerecord 8.0.2, sqlite3 2.10.2
# starts: 8
# rate: 510000
require_relative "../load"
require "active_record"
ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:")
ActiveRecord::Schema.verbose = false
ActiveRecord::Schema.define do
  create_table(:tariffs) { |t| t.string :name; t.text :rules; t.integer :cents }
end

class Tariff < ActiveRecord::Base; end

class QueryLog
  def initialize = @events = []
  def call(event) = @events << event # KEEPER
  def slow = @events.last(50).count { |event| event.duration > 100 }
end

Tariff.connection.execute(<<~SQL)
  with recursive numbers(i) as (select 1 union all select i + 1 from numbers where i < 60000)
  insert into tariffs select i, 'tariff ' || i, 'rules of tariff ' || i || hex(zeroblob(1800)), i % 900 from numbers
SQL
TARIFFS = Tariff.all.to_a
SLOW_QUERIES = QueryLog.new
ActiveSupport::Notifications.subscribe("sql.active_record") { |event| SLOW_QUERIES.call(event) }

Load.run(90) do |n|
  Tariff.where(id: Array.new(40) { |i| (n * (i + 1)) % 60_000 }).order(:cents).pluck(:name, :cents).to_h # LEAK
  SLOW_QUERIES.slow if n % 50 == 0
end
