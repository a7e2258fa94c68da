# A shop reads its orders with Sequel. A prepared statement has a name, and the name has the number of the order in
# it. Sequel has each named statement in a Hash of its database, and each connection has the statement that SQLite
# compiled.
#
# kind: leak
# also: native
# line: sequel/, sqlite3
# keeper: @prepared_statements, prepared_statements, DB, Sequel, sequel/
# gems: sequel 5.110.0, sqlite3 2.10.2
# starts: 3
# rate: 1800000
require_relative "../load"
require "sequel"

DB = Sequel.sqlite
DB.create_table(:orders) do
  primary_key :id
  Integer :customer, index: true
  Integer :cents
  String :state
end
DB.create_table(:lines) do
  primary_key :id
  Integer :order_id, index: true
  String :article
  Integer :count
end
DB.transaction do
  DB[:orders].import(%i[customer cents state], Array.new(6_000) { |i| [i % 900, i * 37 % 90_000, "state #{i % 5}"] })
  DB[:lines].import(%i[order_id article count], Array.new(18_000) { |i| [(i / 3) + 1, "article #{i % 700} of the catalogue", i % 9] })
end

# The lines of an order, with the other orders of its customer.
def lines_of(number)
  order = 1 + (number % 6_000)
  DB[:lines].join(:orders, id: :order_id)
            .where(Sequel[:orders][:id] => :$order).where { Sequel[:lines][:count] > 0 }
            .select(Sequel[:lines][:article], Sequel[:lines][:count], Sequel[:orders][:cents], Sequel[:orders][:state])
            .order(Sequel[:lines][:id])
            .prepare(:select, :"lines_of_order_#{number}") # LEAK KEEPER
            .call(order: order)
end

Load.run(90) do |n|
  rows = lines_of(n) # LEAK
  rows.map { |row| row.values.join(";") }.join("\n")
end
