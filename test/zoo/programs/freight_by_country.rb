# Healthy: a memo (memo_wise) of the freight for each pair of 60 countries and weight class, without a bound, but of a finite
# set: 18,000 keys that come evenly. Two thirds of the keys come in the first eight seconds, and the last ones late.
#
# kind: steady
# also: bloat
# settles: 27
# gems: memo_wise 1.13.0
require_relative "../load"
require "memo_wise"

class Freight
  prepend MemoWise
  COUNTRIES = Array.new(60) { |i| "country #{i}".freeze }.freeze

  def initialize = @random = Random.new(3)
  memo_wise def price(from, to, weight) = { route: "#{from} to #{to}", steps: Array.new(6) { |i| "#{weight} kg, leg #{i}: #{i * 3.5}" } }
  def quote = price(COUNTRIES[@random.rand(60)], COUNTRIES[@random.rand(60)], @random.rand(5))
end

FREIGHT = Freight.new
Load.run(2_400) { |_| FREIGHT.quote[:steps].size }
