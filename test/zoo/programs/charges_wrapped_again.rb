# A till reads its rules again every second and wraps its method for charges in a check by the new rules. It wraps what is there, which
# has the check by the last rules already: the method holds a chain of closures with all the rules that there have been.
#
# kind: leak
# keeper: Till
# rate: 460000
require_relative "../load"

class Till
  def charge(basket) = basket.sum { |item| item[:price] * item[:count] }
end

class Rules
  attr_reader :limits

  def initialize(version)
    @version = version
    @limits = Array.new(1_700) { |i| { article: "article #{i}", most: 20 + ((i + version) % 30), note: "set by rules of version #{version}" } } # LEAK
  end

  def pass?(basket) = basket.all? { |item| item[:count] < @limits[item[:number]][:most] + 20 }
end

def apply(rules)
  charge = Till.instance_method(:charge)
  Till.define_method(:charge) do |basket| # LEAK KEEPER
    rules.pass?(basket) ? charge.bind_call(self, basket) : 0
  end
end

TILL = Till.new
$VERBOSE = nil
read_at = 0
Load.run(900) do |n|
  if Load.seconds - read_at >= 1
    read_at += 1
    apply(Rules.new(n)) # LEAK
  end
  basket = Array.new(160) { |i| { number: (n + i) % 1_700, title: "article #{n + i}", price: i * 0.7, count: 1 + (i % 3) } }
  receipt = basket.map { |item| format("%-20s %3d %8.2f", item[:title], item[:count], item[:price]) }.join("\n")
  format("%s\n%.2f", receipt, n % 6 == 0 ? TILL.charge(basket) : 0)
end
