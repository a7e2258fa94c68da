# Healthy, large: a service answers questions about the visits of a web site. Its table has eleven parts of columns in memory; a new part is
# filled by the visits that come in, and when it is full, the oldest part is dropped.
#
# kind: steady
# also: bloat
# settles: 13
require_relative "../load"

class Part
  ROWS = 45_000

  def initialize
    @times = []
    @took = []
    @paths = []
    @agents = []
  end

  def add(time, took, path, agent)
    @times << time
    @took << took
    @paths << path
    @agents << agent
  end

  def full? = @times.size >= ROWS

  # The slowest of some rows, from a given one on.
  def slowest(from)
    from %= [@times.size - 300, 1].max
    rows = (from...[from + 300, @times.size].min).max_by(12) { |row| @took[row] }
    rows.map { |row| { at: @times[row], took: @took[row], path: @paths[row][/[^?]+/], browser: @agents[row].split.first } }
  end
end

class Visits
  PARTS = 11

  def initialize = @parts = [Part.new]

  def add(number)
    @parts << Part.new if @parts.last.full?
    @parts.shift if @parts.size > PARTS
    path = "/shop/article-#{number % 60_000}/pictures?page=#{number % 9}&from=campaign-#{number % 700}&session=#{(number * 7_919).to_s(36)}".ljust(450, "&tracked=yes")
    @parts.last.add(number / 9_000, number * 31 % 997, path,
                    "Browser-#{number % 50}/#{number % 120}.0 (System #{number % 7}; build #{number * 17 % 90_000}) like all the others, with extension #{number % 13}")
  end

  def slowest(from) = @parts.flat_map { |part| part.slowest(from) }.sort_by { |row| -row[:took] }.first(30)
  def report(from) = slowest(from).map { |row| "<tr><td>#{row[:path]}</td><td>#{row[:took]} ms</td><td>#{row[:browser]}</td></tr>" }.join("\n")
end

VISITS = Visits.new
FILLED = Part::ROWS * Visits::PARTS
FILLED.times { |i| VISITS.add(i) }

Load.run(700) do |n|
  12.times { |i| VISITS.add(FILLED + (n * 12) + i) }
  VISITS.report(n * 7_919) if n % 4 == 0
end
