# A server compacts its heap each four seconds (GC.compact), so that its objects move. It has the visits of the last five seconds, and
# a table of 20,000 places from the start.
#
# kind: steady
# tuned: yes
# also: bloat, fragmentation
# settles: 7
require_relative "../load"

PLACES = Array.new(20_000) { |i| { id: i, name: "place number #{i} in town" } }

class Visits
  Visit = Struct.new(:at, :place, :path)
  def initialize = (@visits, @compacted = [], 0)

  def visit(number)
    @visits << Visit.new(Load.seconds, PLACES[number % PLACES.size], "/places/#{number}?from=#{number * 7}")
    @visits.shift while @visits.first.at < Load.seconds - 5
    compact if Load.seconds - @compacted > 4
  end

  def compact
    GC.compact
    @compacted = Load.seconds
  end
end

VISITS = Visits.new

Load.run(300) do |n|
  VISITS.visit(n)
  Array.new(20) { |i| "<li>#{n} #{i}</li>" }.join
end
