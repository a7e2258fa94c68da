# A cache with a bound (lru_redux) of 6,000 entries: it grows for some twenty seconds, is full, and stays so.
#
# settles: 18
# kind: steady
# tuned: yes
# also: bloat
# gems: lru_redux 1.1.0
require_relative "../load"
require "lru_redux"

CACHE = LruRedux::Cache.new(6_000)
RANDOM = Random.new(7)

def article(id) = CACHE.getset(id) { { id: id, lines: Array.new(12) { |i| "line #{i} of article #{id}" } } }

Load.run(400) do |n|
  article(RANDOM.rand(60_000))
  Array.new(50) { |i| "<li>#{n} #{i}</li>" }.join
end
