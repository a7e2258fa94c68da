# Healthy: a cache of two generations. The young one takes new entries; when it has 4,000 it becomes the old one, and the old
# one is dropped. An entry that is found in the old one is copied. A step down comes every ten to fifteen seconds.
#
# kind: steady
# also: bloat
# settles: 25
require_relative "../load"
require_relative "../zipf"

class Generations
  LIMIT = 4_000

  def initialize = (@young, @old = {}, {})

  def fetch(key)
    @young.fetch(key) do
      @young, @old = {}, @young if @young.size >= LIMIT
      @young[key] = @old[key] || yield
    end
  end
end

CACHE = Generations.new
IDS = Zipf.new(500_000, 8)
Load.run(500) { |_| IDS.next.then { |id| CACHE.fetch(id) { Array.new(12) { |i| "line #{i} of #{id}" } } }.size }
