# A price list counts the places that still call its old methods. It counts by Thread::Backtrace::Location, which is a
# new object for each call and equal to no other, so each call adds an entry. An entry retains the backtrace of its
# call.
#
# kind: leak
# keeper: @calls, OLD_METHODS, OldMethods
# rate: 350000
require_relative "../load"

class OldMethods
  def initialize = @calls = Hash.new(0)

  def called(name)
    place = caller_locations(2, 8).first # LEAK
    @calls[place] += 1 # LEAK KEEPER
    name
  end

  # The places that called most often, for the page of the developers.
  def report = @calls.first(500).group_by { |place, _| "#{place.path}:#{place.lineno}" }.transform_values { |calls| calls.sum(&:last) }
end

OLD_METHODS = OldMethods.new

class PriceList
  def initialize = @cents = Array.new(3_000) { |i| 99 + (i * 37 % 9_000) }

  def price(article) = @cents[article % @cents.size]

  def price_in_euros(article)
    OLD_METHODS.called(:price_in_euros) # LEAK
    price(article).fdiv(100)
  end
end

class Basket
  def initialize(list, articles)
    @list = list
    @articles = articles
  end

  def total = @articles.sum { |article| @list.price(article) }
  def line(article) = format("%-30s %8.2f EUR", "article #{article}", @list.price_in_euros(article)) # LEAK
  def text = [*@articles.map { |article| line(article) }, format("total %d cents", total)].join("\n") # LEAK
end

LIST = PriceList.new

Load.run(200) do |n|
  basket = Basket.new(LIST, Array.new(4) { |i| (n * 7_919) + (i * 31) }) # LEAK
  basket.text # LEAK
  Array.new(120) { |i| "#{i};#{n};#{LIST.price(n + i)}" }.join("\n").tr(";", "\t")
  OLD_METHODS.report if n % 300 == 0
end
