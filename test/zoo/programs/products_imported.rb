# Healthy: Active Record imports products into SQLite in memory for a third of a minute, then the shop only reads pages of
# them.
#
# kind: steady
# also: bloat
# settles: 23
# gems: activerecord 8.0.2, sqlite3 2.10.2
require_relative "../load"
require "active_record"
ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:")
ActiveRecord::Schema.verbose = false
ActiveRecord::Schema.define { create_table(:products) { |t| t.string :name; t.text :description; t.integer :price } }

class Product < ActiveRecord::Base; end

def import(from) = Product.insert_all(Array.new(40) { |i| { name: "product #{from + i}", description: "It is useful. " * 40, price: from + i } })

Load.run(10, seconds: 20) { |n| import(n * 40) }
COUNT = Product.count
Load.run(20) { |n| Product.where(id: (n * 17 % COUNT)..).limit(15).map { |product| "<li>#{product.name}: #{product.price}</li>" }.join }
