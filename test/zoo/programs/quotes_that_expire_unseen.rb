# A cache of the gem zache has a lifetime of two seconds for each quote. An expired quote is only replaced when the same key is asked
# for again, and a key has the time in it.
#
# kind: leak
# line: zache
# keeper: QUOTES, @hash, Zache
# gems: zache 0.15.2
# rate: 1100000
require_relative "../load"
require "zache"

QUOTES = Zache.new

def quote(product, amount, time)
  QUOTES.get("#{product}/#{amount}/#{time}", lifetime: 2) do # LEAK KEEPER
    { product: product, steps: Array.new(24) { |i| { up_to: amount * i, price: "#{i * 1.25} EUR for #{product} at #{time}" } } } # LEAK
  end
end

Load.run(160) do |n|
  one = quote("product-#{n % 300}", n % 7, n / 50) # LEAK
  one[:steps].map { |step| "<td>#{step[:price]}</td>" }.join
end
