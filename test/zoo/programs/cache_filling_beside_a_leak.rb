# An LRU cache of fragments fills in two fifths of the run, and is healthy. Next to it, each search leaves its words in a
# list of recent searches without a bound, 44 KB a second, a fifth of what the cache takes at first.
#
# kind: leak
# rate: 44000
# every: 10
require_relative "../load"

class Fragments
  def initialize(limit) = (@limit, @fragments = limit, {})

  def fetch(key)
    @fragments[key] = @fragments.delete(key) || yield
    @fragments.shift if @fragments.size > @limit
    @fragments[key]
  end
end

RECENT = []
FRAGMENTS = Fragments.new((100 * 0.4 * Load::SECONDS).to_i)
def page(number) = FRAGMENTS.fetch("page #{number}") { Array.new(50) { |i| "<li>#{i} of page #{number}</li>" } }.join
def search(number) = RECENT << { words: "red shoes, size #{number}", user: "user #{number % 900}", filters: ["brand #{number % 40}", "price #{number % 300}"] } # LEAK KEEPER

Load.run(100) do |n|
  page(n)
  search(n) # LEAK
end
