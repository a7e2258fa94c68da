# A router of parcels loads the map of a region when the first parcel for it comes: one each five seconds, until it has all five at
# second 22. It grows in steps, and then no more.
#
# kind: steady
# tuned: yes
# also: bloat
# settles: 27
require_relative "../load"

class Map
  Street = Struct.new(:number, :name, :next)

  def initialize(region)
    @streets = Array.new(6_000) { |i| Street.new(i, "street #{i} in region #{region}", [i + 1, i + 7, i + 90]) }
  end

  def way(from, steps) = Array.new(steps) { |i| @streets[(from + (i * 7)) % @streets.size].name }.join(" then ")
end

MAPS = {}

Load.run(60) do |n|
  open = [1 + ((Load.seconds - 2) / 5).floor, 5].min.clamp(1, 5)
  region = n % open
  (MAPS[region] ||= Map.new(region)).way(n, 30)
end
