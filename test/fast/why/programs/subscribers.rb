# frozen_string_literal: true

# A request subscribes anew each time: its block keeps the order.
require "active_support"
require "active_support/notifications"
require "heapsample/sample_profile"

class Order
  def initialize(count) = @lines = Array.new(count) { |i| "line #{i} of an order" }
end

def request
  order = Order.new(20)
  ActiveSupport::Notifications.subscribe("render.shop") { |*| order }
end

3000.times { request }
GC.start
GC.sample_profile(why: true).save(ARGV.fetch(0))
