# A Singleton converts prices. It memoizes each result by amount and currency, and almost every amount occurs only once.
#
# kind: leak
# line: bigdecimal
# keeper: Converter
# gems: bigdecimal 3.1.9
# rate: 360000
require_relative "../load"
require "bigdecimal"
require "singleton"

class Converter
  include Singleton

  RATES = { "EUR" => BigDecimal("1.0834"), "GBP" => BigDecimal("1.2711"), "CHF" => BigDecimal("1.1292"), "SEK" => BigDecimal("0.0951") }.freeze
  Price = Struct.new(:net, :tax, :text)

  def initialize
    @converted = {}
  end

  def convert(amount, currency)
    @converted[[amount, currency]] ||= begin # LEAK KEEPER
      net = BigDecimal(amount) * RATES[currency] # LEAK
      tax = net * BigDecimal("0.19") # LEAK
      Price.new(net, tax, "#{net.round(2).to_s("F")} USD with #{tax.round(2).to_s("F")} USD tax") # LEAK
    end
  end
end

Load.run(150) do |n|
  lines = Array.new(5) { |i| Converter.instance.convert("#{n}.#{i}#{n % 97}", Converter::RATES.keys[i % 4]).text } # LEAK
  lines.join("\n") + Array.new(60) { |i| "invoice #{n}, line #{i}" }.join("\n")
end
