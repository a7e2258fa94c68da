# Rails' MemoryStore with a size that is never reached: answers of an API, 40 KB each, are cached by the whole URL, and there is a time
# stamp in it. Two threads serve; it grows by some four megabytes a second.
#
# kind: leak
# tuned: yes
# line: active_support/cache
# keeper: active_support/cache, STORE, @data
# gems: activesupport 8.0.2
require_relative "../load"
require "active_support"
require "active_support/cache"

STORE = ActiveSupport::Cache::MemoryStore.new(size: 64 << 30)

class Prices
  def initialize(shop) = @shop = shop

  def at(number)
    STORE.fetch("/prices?shop=#{@shop}&at=#{number}") { body(number) } # LEAK KEEPER
  end

  private

  def body(number)
    Array.new(400) { |i| %({"article":#{i},"price":#{(number * 31 + i) % 9_000},"currency":"EUR","shop":"#{@shop}","text":"#{"x" * 20}"}) }.join(",") # LEAK
  end
end

Array.new(2) { |index| Thread.new { Load.run(50) { |n| Prices.new("shop-#{index}").at(n).size } } }.each(&:join)
