# frozen_string_literal: true

# A shop that forgets to forget its orders: each has its items in an array of its own.
require "heapsample/sample_profile"

class Order
  def initialize(number) = @items = Array.new(20) { |index| "item #{index} of order #{number}" * 2 }
end

module Shop
  ORDERS = []
  def self.order(number) = ORDERS << Order.new(number)
end

16.times do |round|
  400.times { |number| Shop.order(number) }
  Array.new(3000) { |number| "page #{number}" * 9 }
  GC.start
  sleep 0.2
  GC.sample_profile(why: round.odd?).save(File.join(ARGV.fetch(0), format("%02d.pb.gz", round)))
end
