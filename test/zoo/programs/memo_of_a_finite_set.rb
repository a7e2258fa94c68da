# A price for each of 2,000 articles is worked out when it is first asked for, and kept: most are there after the first
# quarter of a minute, the rarest come late.
#
# settles: 16
# kind: steady
# tuned: yes
# also: bloat
require_relative "../load"

class Prices
  def initialize
    @prices = {}
    @random = Random.new(3)
  end

  def for(article) = @prices[article] ||= { article: article, steps: Array.new(40) { |i| "from #{i * 10}: #{(article * 7 % 97) + 0.5}" } }
  def any = self.for([@random.rand(2_000), @random.rand(2_000)].min)
end

PRICES = Prices.new
Load.run(300) do |n|
  PRICES.any
  Array.new(40) { |i| "<li>#{n} #{i}</li>" }.join
end
