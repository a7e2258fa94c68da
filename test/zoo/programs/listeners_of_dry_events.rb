# Each checkout subscribes to the shop's events (dry-events) with a block, to update its page. Nothing unsubscribes the block when
# the customer has gone.
#
# kind: leak
# line: dry/events
# keeper: dry/events, @listeners, listeners, SHOP
# gems: dry-events 1.1.0
# rate: 1500000
require_relative "../load"
require "dry/events/publisher"

class Shop
  include Dry::Events::Publisher[:shop]
  register_event("prices.changed")
  register_event("stock.empty")
end

SHOP = Shop.new

class Checkout
  def initialize(number)
    @number = number
    @lines = Array.new(70) { |i| { title: "article #{i} for customer #{number}", price: i * 1.1 } } # LEAK
    SHOP.subscribe("stock.empty") do |event| # LEAK KEEPER
      @lines.reject! { |line| line[:title] == event[:title] }
    end
  end

  def page = @lines.map { |line| "<li>#{line[:title]}: #{line[:price]}</li>" }.join
end

Load.run(80) do |n|
  Checkout.new(n).page # LEAK
  SHOP.publish("prices.changed", at: n)
end
