# An LRU cache with a bound of 300 entries that does not bind: it finds the key to throw away in a list of symbols, but the entries are
# under strings. It deletes nothing, and the list alone stays short.
#
# kind: leak
# tuned: yes
# keeper: @entries
require_relative "../load"

class Cache
  LIMIT = 300

  def initialize = (@entries, @order = {}, [])

  def fetch(key)
    @entries.fetch(key.to_s) do
      @entries.delete(@order.shift) if @order.size >= LIMIT
      @order << key.to_sym
      @entries[key.to_s] = yield # LEAK KEEPER
    end
  end
end

CACHE = Cache.new

def profile(number) = CACHE.fetch("profile #{number}") { { name: "user #{number}", text: "I like tea, and #{number}. " * 70 } } # LEAK

Load.run(400) do |n|
  profile(n)
  profile([1, n - 7].max)
end
