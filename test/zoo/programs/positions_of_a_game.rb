# Healthy: a program that plays a game stores what it found out about a position in a table of 35,000 places, by the
# hash of the position. A new position replaces the one that has its place. The table is filled more and more slowly,
# as free places become rare.
#
# kind: steady
# also: bloat
# settles: 24
require_relative "../load"

class Places
  Entry = Struct.new(:position, :depth, :value, :moves)

  def initialize(size)
    @entries = Array.new(size)
    @used = 0
  end

  attr_reader :used

  def [](position)
    entry = @entries[position.hash % @entries.size]
    entry if entry && entry.position == position
  end

  def store(position, depth, value, moves)
    place = position.hash % @entries.size
    @used += 1 unless @entries[place]
    @entries[place] = Entry.new(position, depth, value, moves)
  end
end

class Player
  SIZE = 19 # fields on a side

  def initialize
    @places = Places.new(35_000)
    @random = Random.new(17)
    @board = "." * (SIZE * SIZE)
  end

  # Looks at some moves, and makes the best of them.
  def move(stone)
    @board = "." * @board.size if @board.count(".") < 150
    free = (0...@board.size).select { |field| @board[field] == "." }
    @board = free.sample(50, random: @random).map { |field| look(field, stone) }.max_by(&:first).last
  end

  private

  def look(field, stone)
    position = @board.dup
    position[field] = stone
    known = @places[position]
    return [known.value, position] if known

    value = near(position, field).count(stone) + @random.rand
    @places.store(position, 1, value, Array.new(6) { |i| "#{stone}#{(field + i) % SIZE}/#{field / SIZE} is answered at #{(field * 7) + i}" })
    [value, position]
  end

  def near(position, field) = [-SIZE, -1, 1, SIZE].map { |step| position[(field + step) % position.size] }
end

PLAYER = Player.new
Load.run(120) { |n| PLAYER.move(n.even? ? "x" : "o") }
