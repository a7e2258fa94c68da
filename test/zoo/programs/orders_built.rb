# A quote is an order that is built on the shop's record and never saved. The shop is loaded once at start, and its association
# keeps each record that was ever built on it.
#
# kind: leak
# tuned: yes
# line: active_record/, active_model/
# keeper: SHOP, active_record/associations, @target of ActiveRecord::Associations::HasManyAssociation
# gems: activerecord 8.0.2, sqlite3 2.10.2
require_relative "../load"
require "active_record"

ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:")
ActiveRecord::Schema.verbose = false
ActiveRecord::Schema.define do
  create_table(:shops) { |table| table.string :name }
  create_table(:orders) { |table| table.references(:shop); table.string(:customer); table.integer(:total) }
end

class Shop < ActiveRecord::Base
  has_many :orders
end

class Order < ActiveRecord::Base
  belongs_to :shop
  validates :customer, presence: true

  def quote = valid? ? total * 119 / 100 : 0
end

SHOP = Shop.create!(name: "corner")

Load.run(60) { |n| SHOP.orders.build(customer: "customer #{n}", total: n * 7).quote } # LEAK KEEPER
