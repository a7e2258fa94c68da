# Healthy: a GraphQL server answers queries with batches (a dataloader and its fibers), each query with a text of its own. Nothing is
# kept between them.
#
# kind: steady
# tuned: yes
# gems: graphql 2.4.8
require_relative "../load"
require "graphql"

class Customers < GraphQL::Dataloader::Source
  def fetch(ids) = ids.map { |id| { name: "customer #{id}" } }
end

class Customer < GraphQL::Schema::Object
  field :name, String
end

class Order < GraphQL::Schema::Object
  field :number, Integer
  field :customer, Customer
  def customer = dataloader.with(Customers).load(object[:number] % 50)
end

class Query < GraphQL::Schema::Object
  field(:orders, [Order]) { argument :first, Integer }
  def orders(first:) = Array.new(first) { |number| { number: number } }
end

class Shop < GraphQL::Schema
  query Query
  use GraphQL::Dataloader
end

Load.run(25) { |n| Shop.execute("query Page#{n} { orders(first: #{n % 15 + 1}) { number customer { name } } }").to_h }
