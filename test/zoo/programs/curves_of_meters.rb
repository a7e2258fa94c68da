# Healthy: the last days of 7,000 electricity meters are in memory from the start, a ring of 500 readings each. A new reading replaces the
# oldest one of its meter, and bills are made of the rings; the number of meters does not change.
#
# kind: steady
# also: bloat
# settles: 10
require_relative "../load"

METERS = 7_000
PLACES = 500
Reading = Struct.new(:at, :energy, :quality)

class Ring
  def initialize(meter)
    @meter = meter
    @next = 0
    @readings = Array.new(PLACES) { |i| reading(i) }
  end

  def <<(reading)
    @readings[@next] = reading
    @next = (@next + 1) % PLACES
  end

  def reading(at) = Reading.new(at, ((@meter * 13) + (at * 7)) % 900 / 10.0, "estimated by #{(@meter + at) % 7}")
  def bill = @readings.rotate(@next).each_slice(24).map { |day| format("%6.1f kWh, %s", day.sum(&:energy), day.last.quality) }
end

RINGS = Array.new(METERS) { |meter| Ring.new(meter) }

Load.run(400) do |n|
  30.times { |i| RINGS[((n * 30) + i) % METERS].then { |ring| ring << ring.reading(PLACES + n) } }
  6.times { |i| RINGS[((n * 6) + i) * 17 % METERS].bill.join("\n").size }
end
