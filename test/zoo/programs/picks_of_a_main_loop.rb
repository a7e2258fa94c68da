# Large: a warehouse loads its bins at the start. The main loop has the picks of open orders in a local variable, and removes an order when
# all its picks are there. An order with an article that is out of stock is never complete, one in four.
#
# kind: leak
# keeper: open_orders
# starts: 8
# rate: 1900000
require_relative "../load"

class Bin
  attr_reader :place

  def initialize(number)
    @place = "#{number / 4_000}-#{number / 50 % 80}-#{number % 50}"
    @article = { number: number * 17, name: "article #{number * 17}", weight: number % 900, labels: ["fragile #{number % 3}", "layer #{number % 5}"] }
    @history = "filled in week #{number % 52} by #{number % 60}; ".ljust(1_500, "counted, correct; ")
    @pieces = number % 61
  end

  def pick = @pieces.zero? ? nil : "#{@article[:name]}, #{@article[:weight]} g, from #{@place}: #{@history[0, 400]}"
  def refill(pieces) = @pieces = pieces
  def counted = @history.split("; ").tally.map { |text, times| "#{text}: #{times}" }
end

class Warehouse
  def initialize(size) = @bins = Array.new(size) { |i| Bin.new(i) }
  def bin(number) = @bins[number % @bins.size]
  def route(numbers) = numbers.map { |number| bin(number).place }.sort_by { |place| place.split("-").map(&:to_i) }.join(" > ")
end

warehouse = Warehouse.new(270_000)
open_orders = {}
Load.run(450) do |n|
  wanted = Array.new(20) { |i| (n * 7_919) + (i * 104_729) }
  open_orders[n] = wanted.map { |number| warehouse.bin(number).pick } # LEAK KEEPER
  warehouse.route(wanted)
  open_orders.delete(n) if open_orders[n].all?
  wanted.each { |number| warehouse.bin(number + 1).counted }
end
