# Healthy and large: stock levels of all articles are loaded at the start. Each update replaces the record of its article with a new one
# of the same size, so that most of the memory is replaced within the minute.
#
# kind: steady
# also: bloat
# settles: 6
require_relative "../load"

class Level
  def initialize(article, update)
    @article = article
    @places = Array.new(8) { |i| "shelf #{i} in hall #{article % 40} has #{(update + i) % 90} pieces of article #{article}".ljust(480) }
    @updated = update
  end

  def pieces = @places.sum { |place| place[/has (\d+)/, 1].to_i }
end

LEVELS = Array.new(100_000) { |i| Level.new(i, 0) }
Load.run(1500) do |n|
  LEVELS[n * 7919 % LEVELS.size] = Level.new(n * 7919 % LEVELS.size, n)
  LEVELS[n % LEVELS.size].pieces if n % 10 == 0
end
