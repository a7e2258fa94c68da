# A cache of fragments without a bound, of a finite set of 8,000 pages that are asked for by Zipf's law: it fills ever
# more slowly.
#
# kind: steady
# tuned: yes
# also: bloat
# settles: 100%
require_relative "../load"
FRAGMENTS = {}
RANDOM = Random.new(3)
WEIGHTS = (1..8_000).inject([0.0]) { |sums, rank| sums << sums.last + 1.0 / rank }
def page = WEIGHTS.bsearch_index { |sum| sum >= RANDOM.rand * WEIGHTS.last } || 0
def render(id) = FRAGMENTS[id] ||= Array.new(30) { |i| "<li>#{i} of page #{id}</li>" }
Load.run(600) { |_| render(page).join }
