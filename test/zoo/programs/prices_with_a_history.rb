# Large: a catalog of products is loaded at the start. Each change of a price appends to the history of its product, which nothing
# shortens: the leak is spread over many small arrays.
#
# kind: leak
# keeper: @history, CATALOG
# starts: 6
# rate: 620000
require_relative "../load"

class Product
  attr_reader :price

  def initialize(number)
    @number = number
    @price = number % 500
    @title = "product #{number} in category #{number % 80}"
    @description = "A description of product #{number}. " * 75
    @history = []
  end

  def price=(price)
    change = { from: @price, to: price, at: Load.seconds, reason: "changed by import #{price} of product #{@number}" } # LEAK
    @history << change # LEAK KEEPER
    @price = price
  end

  def page = "<h1>#{@title}</h1><p>#{@description[0, 200]}</p><b>#{@price}</b>"
end

CATALOG = Array.new(160_000) { |i| Product.new(i) }
Load.run(2500) do |n|
  product = CATALOG[n * 7919 % CATALOG.size]
  product.price = n # LEAK
  product.page if n % 5 == 0
end
