# Healthy: a Ractor has the prices of 9,000 articles, which come one after the other and then change. It answers each message
# with the price before. The first round takes a third of the run.
#
# kind: steady
# also: bloat
# settles: 34%
require_relative "../load"
Warning[:experimental] = false

PRICES = Ractor.new do
  prices = {}
  loop do
    article, price = Ractor.receive
    before = prices[article]
    prices[article] = { price: price, notes: Array.new(5) { |i| "note #{i} on #{article} at #{price}" } }
    Ractor.yield(before ? before[:price] : 0)
  end
end

ARTICLES = 9_000
Load.run(ARTICLES * 3 / Load::SECONDS) do |n|
  PRICES.send([n % ARTICLES, n * 0.5])
  PRICES.take
end
