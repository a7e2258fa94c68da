# Large: an energy supplier loads its meters at the start. Prices are computed by the block of a Hash when they are first asked for, and stay
# in the Hash. The key has the moment of the request, to the millisecond.
#
# kind: leak
# keeper: PRICES
# starts: 6
# rate: 1250000
require_relative "../load"

Meter = Struct.new(:number, :contract, :profile, :readings)

METERS = Array.new(80_000) do |i|
  Meter.new("DE#{i}", { customer: "customer #{i}", street: "street #{i % 900}", tariff: i % 24, since: 2000 + (i % 24), zone: i % 12, notes: "meter in the cellar, floor #{i % 4}" },
            Array.new(24) { |hour| ((i + hour) % 17) + 0.5 }.pack("E*") * 18, Array.new(6) { |month| "reading of month #{month}: #{i * month} kWh" })
end

PRICES = Hash.new do |prices, (zone, tariff, moment)|
  base = 20.0 + zone + (tariff / 10.0)
  prices[[zone, tariff, moment].freeze] = Array.new(24) { |hour| { hour: hour, price: (base + ((hour + moment.to_i) % 7)).round(2) } } # LEAK KEEPER
end

def quote(number)
  meter = METERS[number * 31 % METERS.size]
  hours = PRICES[[meter.contract[:zone], meter.contract[:tariff], (Load.seconds * 1_000).round + (number / 1_000.0)]] # LEAK
  [meter, *METERS[number * 17 % 79_000, 2]].map { |one| bill(one, hours) }.join("\n")
end

def bill(meter, hours)
  days = meter.profile.unpack("E*").each_slice(24).map { |day| day.each_with_index.sum { |kwh, hour| kwh * hours[hour][:price] } }
  days.map.with_index { |cents, day| format("%<number>s day %<day>d: %<cents>.2f", number: meter.number, day: day, cents: cents) }.join("\n")
end

Load.run(280) { |n| quote(n) } # LEAK
