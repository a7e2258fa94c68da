# Healthy: carts of a shop, by day and by night: a day takes a third of the run. A cart is dropped six seconds after its last
# use, so that memory goes up and down with the load. Its first day has as many visitors as the others.
#
# kind: steady
# also: bloat
# settles: 56%
# every: 10
require_relative "../load"

Cart = Struct.new(:used, :items)
CARTS = {}
DAY = Load::SECONDS / 3

def add(customer, number)
  cart = (CARTS[customer] ||= Cart.new(0, []))
  cart.used = Load.seconds
  cart.items << { sku: "sku-#{number}", text: "article #{number}, size #{number % 9}", price: number * 0.5, notes: Array.new(4) { |i| "note #{i} on #{number}" } }
  CARTS.delete_if { |_, one| one.used < Load.seconds - 6 } if number % 100 == 0
end

Load.run(->(second) { 400 * (1 - Math.cos(second * 2 * Math::PI / DAY)) }) do |n|
  add(n / 4, n)
  Array.new(20) { |i| "<li>#{n} #{i}</li>" }.join
end
