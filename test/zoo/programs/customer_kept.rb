# A worker holds its customer, an Active Record, in a constant. Each job adds an order to the loaded association, which refers
# to all orders of the customer from then on. They are never saved.
#
# kind: leak
# line: active_record/, active_model/, active_support/
# keeper: @target, @association_cache, CUSTOMER, active_record/
# gems: activerecord 8.0.2, sqlite3 2.10.2
# rate: 44000
require_relative "../load"
require "active_record"
ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:")
ActiveRecord::Schema.verbose = false
ActiveRecord::Schema.define do
  create_table(:customers) { |t| t.string :name }
  create_table(:orders) { |t| t.integer :customer_id; t.string :title }
end

class Order < ActiveRecord::Base; end

class Customer < ActiveRecord::Base
  has_many :orders
end

CUSTOMER = Customer.create!(name: "a customer")
Load.run(30) do |n|
  order = CUSTOMER.orders.build(title: "draft #{n}, which is compared with others") # LEAK KEEPER
  order.attributes.size
end
