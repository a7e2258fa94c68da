# Healthy: fragments of pages are in a cache of 160 MB. It is full after some seconds, and drops the oldest fragments from then on.
#
# kind: steady
# also: bloat
# settles: 14
require_relative "../load"

class SizedCache
  def initialize(limit) = (@limit, @bytes, @fragments = limit, 0, {})

  def fetch(key)
    @fragments.fetch(key) do
      @fragments[key] = yield.tap { |text| @bytes += text.bytesize }
      @bytes -= @fragments.shift.last.bytesize while @bytes > @limit
      @fragments[key]
    end
  end
end

FRAGMENTS = SizedCache.new(160_000_000)
Load.run(160) { |n| FRAGMENTS.fetch(n % 5 == 0 ? n - 300 : n) { Array.new(1_500) { |i| "<li class='line'>#{i} of fragment #{n} and its price</li>" }.join } }
