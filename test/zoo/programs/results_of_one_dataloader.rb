# A worker writes letters about orders. It loads the customers of a batch of orders at once with a dataloader of
# graphql-ruby. A dataloader is meant for one query, and its sources have every result that they have loaded. The worker
# has one dataloader for its whole life.
#
# kind: leak
# line: graphql/dataloader
# keeper: @results, @source_cache, LOADER, Customers, graphql/dataloader
# gems: graphql 2.4.8
# rate: 1840000
require_relative "../load"
require "graphql"

Customer = Struct.new(:number, :name, :street, :orders)

class Customers < GraphQL::Dataloader::Source
  def initialize(region)
    super()
    @region = region
  end

  def fetch(numbers) = numbers.map { |number| row(number) } # LEAK KEEPER

  private

  def row(number)
    orders = Array.new(24) { |i| "order #{number}/#{i} in region #{@region}: #{number * (i + 31) % 977} EUR, paid on day #{i * 9 % 360} by card" } # LEAK
    Customer.new(number, "customer #{number} of the family #{number * 7_919 % 4_000}", "#{number % 250} Street of the #{number / 250}th house", orders) # LEAK
  end
end

LOADER = GraphQL::Dataloader.new
REGIONS = %w[north east south west].freeze

def letter(order, customer) = "#{customer.name}\n#{customer.street}\n\nOrder #{order}\n#{customer.orders.first(8).map(&:capitalize).join("\n")}"

Load.run(20) do |n|
  letters = []
  LOADER.append_job do
    numbers = Array.new(26) { |i| (n * 26) + i }
    LOADER.with(Customers, REGIONS[n % 4]).load_all(numbers).each { |customer| letters << letter(n, customer) } # LEAK
  end
  LOADER.run # LEAK
  letters.join("\f").sum
end
