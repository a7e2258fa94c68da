# Healthy: the server of a game has the part of its world in memory that its players can see. They walk, so that chunks are read in front of
# them and dropped behind them. Some stand close to each other at times, so that the number of chunks goes up and down.
#
# kind: steady
# also: bloat
# settles: 12
require_relative "../load"

Thing = Struct.new(:kind, :x, :y, :text)

class Chunk
  attr_accessor :seen

  def initialize(x, y)
    @blocks = Array.new(64) { |row| [x, y, row].pack("NNN") * 90 }
    @things = Array.new(160) { |i| Thing.new(%w[tree stone sheep door].at(i % 4), (x * 64) + (i % 64), (y * 64) + (i / 3), "thing #{i} of the chunk at #{x}, #{y}, put there by player #{i % 17}") }
  end

  def near(x, y) = @things.select { |thing| (thing.x - x).abs + (thing.y - y).abs < 60 }.map { |thing| "#{thing.kind} #{thing.text}" }
  def ground(row) = @blocks[row % 64].unpack("N60").map { |block| block % 9 }.join
end

class World
  VIEW = 3

  def initialize = @chunks = {}
  def size = @chunks.size

  def look(x, y)
    column, row = (x / 64).floor, (y / 64).floor
    (-VIEW..VIEW).each { |dx| (-VIEW..VIEW).each { |dy| chunk(column + dx, row + dy).seen = Load.seconds } }
    here = chunk(column, row)
    [*here.near(x, y), here.ground(y.to_i)].join("\n")
  end

  # Drops what nobody has seen for three seconds.
  def tidy = @chunks.delete_if { |_, chunk| chunk.seen < Load.seconds - 3 }

  private

  def chunk(x, y) = @chunks[[x, y]] ||= Chunk.new(x, y)
end

Player = Struct.new(:x, :y, :turn) do
  def walk(second)
    angle = turn + (Math.sin((second / 6) + turn) * 1.5)
    self.x += Math.cos(angle) * 9
    self.y += Math.sin(angle) * 9
  end
end

WORLD = World.new
PLAYERS = Array.new(36) { |i| Player.new(3_000.0 + (i % 6 * 700), 3_000.0 + (i / 6 * 700), i * 2.4) }

Load.run(160) do |n|
  player = PLAYERS[n % 36]
  player.walk(Load.seconds)
  WORLD.look(player.x, player.y)
  WORLD.tidy if n % 80 == 0
end
