# An audit of a web application subscribes to a notification anew for each request. The block keeps the request's env
# and its order for ever; the notifier's list of subscribers keeps the block.
#
# kind: leak
# tuned: yes
# line: notifications/fanout.rb, notifications.rb
# keeper: notifications/fanout.rb, @string_subscribers of ActiveSupport::Notifications::Fanout
# gems: activesupport 8.0.2, rack 3.1.12
require_relative "../load"
require "active_support"
require "active_support/notifications"
require "rack"

class Order
  attr_reader :lines

  def initialize(count) = @lines = Array.new(count) { |i| "line #{i} of order" } # LEAK
end

class Audit
  def call(env)
    order = Order.new(20) # LEAK
    ActiveSupport::Notifications.subscribe("render.shop") { |*| env["audit"] = order.lines.size } # LEAK KEEPER
    [200, {}, [render(order)]]
  end

  def render(order) = order.lines.map { |line| "<li>#{line}</li>" }.join
end

APP = Rack::Builder.new { run Audit.new }.to_app
Load.run(250) { |n| APP.call(Rack::MockRequest.env_for("/orders/#{n}")) } # LEAK
