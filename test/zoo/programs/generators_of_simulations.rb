# A pricing service simulates the course of a share for each quote. It keeps the generator of each simulation (Random, 2.5 KB of malloc) in a
# class variable, so that a quote can be computed again; quotes are never forgotten.
#
# kind: native
# also: leak
# keeper: @@generators, Simulation
# rate: 1310000
require_relative "../load"

Share = Struct.new(:name, :price, :volatility, :history)

class Simulation
  @@generators = {}

  def self.generator(id) = @@generators[id] ||= Random.new(id) # LEAK KEEPER

  def initialize(id, share)
    @share = share
    @random = Simulation.generator(id) # LEAK
  end

  def quote
    ends = Array.new(110) { path.last }
    { share: @share.name, price: (ends.sum / ends.size).round(2), text: ends.map { |price| format("%.2f", price) }.join(", ") }
  end

  private

  def path
    price = @share.price
    Array.new(15) { price *= 1 + ((@random.rand - 0.5) * @share.volatility) }
  end
end

SHARES = Array.new(3_000) do |i|
  Share.new("share #{i}", 20.0 + (i % 90), 0.01 + (i % 7 / 100.0), Array.new(60) { |day| "day #{day}: opened #{i * day % 97}.5, closed #{i * day % 89}.25, #{i * 100} pieces" })
end
Load.run(500) { |n| Simulation.new(n, SHARES[n % SHARES.size]).quote } # LEAK
