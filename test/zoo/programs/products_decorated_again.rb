# Large: a shop has 250,000 products in memory. For a price that is reduced, the product in the catalogue is replaced
# by a decorator (SimpleDelegator) with the new price and its label. The next price should decorate the product, but it
# decorates what is in the catalogue, so each product retains all decorators that it ever had.
#
# kind: leak
# line: delegate
# keeper: @products, @delegate_sd_obj, CATALOGUE, Catalogue, delegate
# starts: 7
# rate: 1045000
require_relative "../load"
require "delegate"

Product = Struct.new(:number, :title, :price, :notes)

class Reduced < SimpleDelegator
  attr_reader :price, :label

  def initialize(product, percent, day)
    super(product) # LEAK KEEPER
    @price = product.price * (100 - percent) / 100
    @label = "<div class='reduced' id='product-#{product.number}'><b>#{title}</b> #{percent} percent less on day #{day}: #{price} EUR. #{"As long as there are some left. " * 34}</div>" # LEAK
  end
end

class Catalogue
  def initialize(products) = @products = products

  def size = @products.size
  def [](place) = @products[place]

  def reduce(place, percent, day)
    @products[place] = Reduced.new(@products[place], percent, day) # LEAK KEEPER
  end
end

CATALOGUE = Catalogue.new(Array.new(250_000) do |i|
  notes = Array.new(3) { |k| "note #{k} on product #{i}: #{"made of wood from the forests of the county, " * 11}#{i * k % 97} pieces" }
  Product.new(i, "product #{i} of maker #{i * 7_919 % 900}, size #{i % 40}", 10_000 + (i * 31 % 90_000), notes)
end)

# The products of this week are 3,000.
Load.run(750) do |n|
  CATALOGUE.reduce(n * 7_919 % 3_000 * 83, n % 5, n / 5_000) # LEAK
  4.times { |i| "#{CATALOGUE[(n * 31 + i) % CATALOGUE.size].title.upcase}: #{CATALOGUE[(n * 31 + i) % CATALOGUE.size].price}" }
end
