# Healthy: a payment service settles every nine seconds. It reads the card payments of a file for four seconds, has all of them at once,
# sums them up by shop, and drops them. Its shops are loaded at the start.
#
# kind: steady
# also: bloat
# settles: 14
require_relative "../load"
require "json"

Payment = Struct.new(:shop, :cents, :card, :details)
Shop = Struct.new(:name, :account, :contract)

SHOPS = Array.new(30_000) { |i| Shop.new("shop #{i}", "DE#{i * 31}", "contract of shop #{i}: ".ljust(1_800, "fee of 1.4%; ")) }

class Settlement
  def initialize(number) = (@number, @payments = number, [])

  def read(line)
    values = JSON.parse(line)
    @payments << Payment.new(values["shop"], values["cents"], values["card"], values["details"])
  end

  def totals
    @payments.group_by { |payment| payment.shop }.map { |shop, all| "#{@number};#{SHOPS[shop].account};#{all.sum { |payment| payment.cents }}" }.join("\n")
  end
end

settlement = nil
number = 0
Load.run(400) do |n|
  phase = Load.seconds % 9
  if phase < 4
    settlement ||= Settlement.new(number += 1)
    8.times { |i| settlement.read(%({"shop":#{n * 7 % 30_000},"cents":#{n % 9_000},"card":"#{n * 31 + i}","details":["terminal #{n % 500}","code #{n}","#{"signature " * 300}"]})) }
  elsif settlement && phase > 5
    settlement.totals
    settlement = nil
  else
    25.times { |i| SHOPS[((n * 25) + i) % SHOPS.size].contract.split("; ").tally.map { |text, times| "#{text}: #{times}" } }
  end
end
