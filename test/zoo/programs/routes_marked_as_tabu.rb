# Large: a dispatcher plans the tours of its vans for 1,500 places, whose ways to each other are in memory. It betters
# the tours by a tabu search: a tour that it had lately must not come again. The search adds each tour to a Set. It was
# to forget the tours of the last thousand steps. It deletes an Array of the places that is sorted, which is not in the
# Set, so no tour is ever forgotten.
#
# kind: leak
# keeper: @tabu, SEARCH, TabuSearch
# starts: 10
# rate: 860000
require_relative "../load"
require "set"

Way = Struct.new(:meters, :seconds, :through)

class TabuSearch
  LENGTH = 1_000

  def initialize(ways)
    @ways = ways
    @tabu = Set.new
    @order = []
  end

  # A tour of the same places that is not tabu.
  def better(tour)
    moves = Array.new(5) { Array.new(2) { 1 + rand(tour.size - 1) } }.sort_by { |a, b| meters(tour, a, b) }
    moves.each do |a, b|
      other = swapped(tour, a, b) # LEAK
      return remember(other) unless @tabu.include?(other)
    end
    tour
  end

  private

  def swapped(tour, a, b)
    tour.dup.tap { |other| other[a], other[b] = other[b], other[a] } # LEAK
  end

  # Of the ways to the two places, if they are swapped.
  def meters(tour, a, b) = @ways[tour[a - 1]][tour[b]].meters + @ways[tour[b - 1]][tour[a]].meters

  def remember(tour)
    @tabu << tour # LEAK KEEPER
    @order << tour.sort
    forget(@order.shift) if @order.size > LENGTH
    tour
  end

  def forget(old) = @tabu.delete(old)
end

PLACES = 1_500
WAYS = Array.new(PLACES) do |from|
  Array.new(PLACES) { |to| Way.new(((from - to).abs * 37 % 9_001) + 90, (from - to).abs * 5, "road #{from * to % 700} and the bridge, #{to} m along the river, exit #{from}") }
end
SEARCH = TabuSearch.new(WAYS)
TOURS = Array.new(40) { |van| Array.new(300) { |stop| ((van * 300) + stop) * 31 % PLACES } }

Load.run(350) { |n| TOURS[n % 40] = SEARCH.better(TOURS[n % 40]) } # LEAK
