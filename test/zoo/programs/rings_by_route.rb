# Healthy: a page of statistics has the last hundred requests of each route in a ring. Rings fill as their routes are asked for, the
# rarest late; then each new entry takes the place of an old one.
#
# kind: steady
# tuned: yes
# also: bloat
# settles: 24
require_relative "../load"

class Ring
  def initialize(size) = (@entries, @next = Array.new(size), 0)
  def <<(entry) = @entries[(@next += 1) % @entries.size] = entry
end

Entry = Struct.new(:at, :path, :milliseconds, :status)
RINGS = Hash.new { |rings, route| rings[route] = Ring.new(100) }
RANDOM = Random.new(14)

Load.run(400) do |n|
  route = (RANDOM.rand * RANDOM.rand * 70).floor
  RINGS[route] << Entry.new(Load.seconds, "/route-#{route}/orders/#{n}?page=#{n % 30}", n % 900, 200)
end
