# Large: a railway company has its 260,000 stops in memory. A fare between two places is computed once and stored in a
# Hash under the two places. A place has a method to compare it (==), but neither hash nor eql?, so each request, with
# places of its own, does not find the fare and adds another one.
#
# kind: leak
# keeper: @fares, FARES, Fares
# starts: 7
# rate: 1050000
require_relative "../load"

class Place
  attr_reader :east, :north

  def initialize(east, north)
    @east = east
    @north = north
  end

  def ==(other) = other.is_a?(Place) && east == other.east && north == other.north
  def distance(other) = Math.hypot(east - other.east, north - other.north).round
end

class Fares
  Fare = Struct.new(:price, :currency, :steps)

  def initialize = @fares = {}

  def between(from, to)
    @fares[[from, to]] ||= compute(from, to) # LEAK KEEPER
  end

  private

  def compute(from, to)
    distance = from.distance(to)
    steps = Array.new(8) { |i| "step #{i}: #{distance * (i + 1) / 8} km from #{from.east}/#{from.north}, by the regional train to #{to.east}/#{to.north}, second class" } # LEAK
    Fare.new((distance * 0.21).round(1), "EUR", steps) # LEAK
  end
end

Stop = Struct.new(:number, :name, :east, :north, :departures)

STOPS = Array.new(260_000) do |i|
  departures = Array.new(4) { |k| "line #{i * (k + 3) % 900}: every #{10 + (k * 10)} minutes from #{4 + k} o'clock, #{"not on the first Monday of the month, " * 9}platform #{k}" }
  Stop.new(i, "stop #{i} at the #{i * 7_919 % 40_000}th street", i * 7_919 % 3_000, i * 31 % 4_000, departures)
end
FARES = Fares.new

# What a visitor has chosen on the map, as the request has it.
def place(stop) = Place.new(stop.east, stop.north) # LEAK

# Most visitors go to one of the 300 largest stops.
Load.run(650) do |n|
  from = STOPS[n * 611_953 % 4_000]
  to = STOPS[n * 31 % 300]
  fare = FARES.between(place(from), place(to)) # LEAK
  "#{from.name} - #{to.name}: #{fare.price} #{fare.currency}; #{to.departures.first.upcase}"
end
