# Large: a taxi service finds a free taxi near a customer, with the cells of a map that has 360,000 addresses. A taxi that moves to another
# cell is removed from the cell of its new place instead of that of the old one, so cells have taxis that left them long ago.
#
# kind: leak
# keeper: @taxis, CITY
# starts: 7
# rate: 1050000
require_relative "../load"

Address = Struct.new(:x, :y, :text, :names, :hints)
Sighting = Struct.new(:taxi, :at, :x, :y, :driver, :trail)

class Cell
  attr_reader :addresses

  def initialize
    @addresses = []
    @taxis = {}
  end

  def leave(taxi) = @taxis.delete(taxi)
  def enter(sighting) = @taxis[sighting.taxi] = sighting # LEAK KEEPER
  def nearest(x, y) = @taxis.each_value.max_by { |one| [one.at, -((one.x - x).abs + (one.y - y).abs)] }
end

class City
  SIDE = 200

  def initialize
    @cells = Array.new(SIDE * SIDE) { Cell.new }
    360_000.times do |i|
      x, y = i * 7 % 20_000, i * 13 % 19_997
      text = "#{i % 250} Street of the #{i / 250}th house, district #{i % 40}".ljust(130)
      cell(x, y).addresses << Address.new(x, y, text, ["bell #{i}", "bell #{i + 1}"], "hint for the driver: #{i % 9} steps behind the gate ".ljust(580, "and on "))
    end
  end

  def cell(x, y) = @cells[((x / 100) % SIDE * SIDE) + ((y / 100) % SIDE)]

  def move(taxi, x, y)
    there = cell(x, y)
    there.leave(taxi)
    there.enter(Sighting.new(taxi, Load.seconds, x, y, "driver #{taxi % 900}", Array.new(14) { |i| (x * i) + y + 0.25 })) # LEAK
  end

  def order(x, y)
    cells = [-100, 0, 100].flat_map { |dx| [-100, 0, 100].map { |dy| cell(x + dx, y + dy) } }
    taxi = cells.filter_map { |one| one.nearest(x, y) }.max_by(&:at)
    "taxi #{taxi&.taxi} to #{cells[4].addresses.first(8).map { |address| "#{address.text.strip} (#{address.hints[0, 60].tr("a-f", "A-F")})" }.join(" or ")}"
  end
end

CITY = City.new
TAXIS = Array.new(4_000) { |i| [i * 31 % 20_000, i * 57 % 20_000, (i % 7) - 3, (i % 5) - 2] }

Load.run(3_600) do |n|
  taxi = TAXIS[n % 4_000]
  taxi[0] = (taxi[0] + (taxi[2] * 41) + 7) % 20_000
  taxi[1] = (taxi[1] + (taxi[3] * 43) + 3) % 20_000
  CITY.move(n % 4_000, *taxi.first(2)) # LEAK
  CITY.order(n * 37 % 20_000, n * 11 % 20_000) if n % 2 == 0
end
