# Healthy: a service plans the ways of couriers on a map of 160,000 crossings. What a search found out is in a table that is thrown away after
# four seconds, when the traffic on the roads is read again.
#
# kind: steady
# also: bloat
# settles: 14
require_relative "../load"

SIDE = 400
Road = Struct.new(:to, :metres, :name)

def road(from, to) = Road.new(to, 10 + ((from * 31 + to) % 17), "road #{[from, to].min} to #{[from, to].max}")

CROSSINGS = Array.new(SIDE * SIDE) do |i|
  x, y = i.divmod(SIDE)
  [[x - 1, y], [x + 1, y], [x, y - 1], [x, y + 1]].select { |a, b| a.between?(0, SIDE - 1) && b.between?(0, SIDE - 1) }.map { |a, b| road(i, (a * SIDE) + b) }
end

class Planner
  def initialize = read_traffic

  def read_traffic
    @read_at = Load.seconds
    @traffic = Array.new(5_000) { |i| 1 + (((i * 7) + @read_at.to_i) % 5) }
    @ways = {}
  end

  def way(from, to)
    read_traffic if Load.seconds - @read_at > 4
    @ways[[from, to]] ||= search(from, to)
  end

  private

  # Greedy, along the road that gets nearest to the aim for what it costs.
  def search(from, to)
    steps = []
    here = from
    200.times do
      break if here == to

      best = CROSSINGS[here].min_by { |road| (distance(road.to, to) * 20) + (road.metres * @traffic[road.to % 5_000]) }
      steps << { name: best.name, text: "take #{best.name} for #{best.metres} m", at: best.to }
      here = best.to
    end
    steps
  end

  def distance(one, other) = (one / SIDE - other / SIDE).abs + (one % SIDE - other % SIDE).abs
end

PLANNER = Planner.new
Load.run(400) do |n|
  from = n * 7_919 % CROSSINGS.size
  way = PLANNER.way(from, (from + (SIDE * 47) + 61) % CROSSINGS.size)
  way.each_slice(10).map { |part| part.map { |step| step[:text] }.join("\n") }.max_by(&:size)
end
