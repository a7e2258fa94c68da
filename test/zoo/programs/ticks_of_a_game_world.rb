# Large: a game server loads its map at the start. Each player who joins adds a block to the list of what runs at each tick of the
# world, and the block stays when the player leaves.
#
# kind: leak
# keeper: @on_tick, WORLD
# starts: 8
# rate: 2100000
require_relative "../load"

class Tile
  def initialize(x, y)
    @kind = %w[grass sand water].fetch((x * y) % 3)
    @objects = { id: "#{x}/#{y}", items: ["tree #{x}", "stone #{y}"] }
    @texture = "#{x} #{y} ".ljust(900, @kind)
  end

  def passable? = @kind != "water"
end

class World
  def initialize(size)
    @tiles = Array.new(size) { |x| Array.new(size) { |y| Tile.new(x, y) } }
    @on_tick = []
  end

  def on_tick(&block) = @on_tick << block # LEAK KEEPER
  def tick(number) = @on_tick.last(20).each { |block| block.call(number) }
  def passable(x) = @tiles[x % @tiles.size].count(&:passable?)
end

class Player
  def initialize(number)
    @name = "player #{number}"
    @inventory = Array.new(60) { |i| "item #{i} of player #{number}" } # LEAK
    @position = [0, 0]
  end

  def join(world) = world.on_tick { |number| @position[0] = number } # LEAK
end

WORLD = World.new(600)
Load.run(350) do |n|
  Player.new(n).join(WORLD) # LEAK
  WORLD.tick(n)
  Array.new(20) { |i| "state of #{i} at tick #{n}: #{WORLD.passable(i)}" }.join if n % 100 == 0
end
