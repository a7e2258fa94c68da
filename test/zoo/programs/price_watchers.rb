# Each request makes a cart that watches the price list (observer). Nobody deletes the observer when the request is done.
#
# kind: leak
# tuned: yes
# line: observer.rb
# keeper: observer.rb, @observer_peers
# gems: observer 0.1.2
require_relative "../load"
require "observer"

class Prices
  include Observable
  def change = (changed; notify_observers(0))
end

class Cart
  def initialize(prices, number)
    @items = Array.new(12) { |i| "item #{i} of cart #{number}" } # LEAK
    prices.add_observer(self) # LEAK KEEPER
  end

  def update(_) = nil
  def total = @items.sum(&:size)
end

PRICES = Prices.new
Load.run(150) do |n|
  Cart.new(PRICES, n).total # LEAK
  Array.new(60) { |i| "<li>#{n} #{i}</li>" }.join
end
