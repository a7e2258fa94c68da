# Healthy: a table of ranks has 260,000 players in one sorted Array. A game that ends takes its player out of the Array, by a binary search, and
# puts him in where his new score belongs, with a new record of his last games in place of the old one.
#
# kind: steady
# also: bloat
# settles: 12
require_relative "../load"

Player = Struct.new(:number, :score, :games)

class Ranks
  def initialize(count)
    @players = Array.new(count) { |i| Player.new(i, score(i), games(i, 0)) }
    @sorted = @players.sort_by { |player| key(player) }
  end

  def finish(number, points)
    player = @players[number]
    @sorted.delete_at(rank(player))
    player.score = (player.score + points).clamp(0, 100_000)
    player.games = games(number, points)
    @sorted.insert(@sorted.bsearch_index { |one| (key(one) <=> key(player)) >= 0 } || @sorted.size, player)
  end

  def around(number)
    rank = rank(@players[number])
    @sorted[[rank - 12, 0].max, 25].map.with_index { |player, i| "#{rank + i}. player #{player.number}: #{player.score} #{player.games.last}" }.join("\n")
  end

  private

  def rank(player) = @sorted.bsearch_index { |one| (key(one) <=> key(player)) >= 0 }
  def key(player) = (-player.score * 1_000_000) + player.number
  def score(number) = number * 7_919 % 100_000
  def games(number, points) = Array.new(3) { |i| "game #{i} of player #{number} against #{number * (i + 3) % 9_000}: #{points + i} points, #{"knight to e5, " * 12}" }
end

RANKS = Ranks.new(260_000)

Load.run(700) do
  number = rand(260_000)
  RANKS.finish(number, rand(-50..50))
  5.times { |i| RANKS.around((number + i) % 260_000) }
end
