# A monitoring agent subscribes to notifications of Active Support, once, and keeps the events of slow queries for a batch that it sends
# when it has an answer from its server. It never has one.
#
# kind: leak
# line: active_support/notifications
# keeper: @events
# gems: activesupport 8.0.2
# rate: 7700
require_relative "../load"
require "active_support"
require "active_support/notifications"

class Agent
  def initialize = @events = []
  def start = ActiveSupport::Notifications.subscribe("query.shop") { |event| keep(event) if event.payload[:rows] > 90 }
  def send_events = @answered && @events.shift(100)

  private

  def keep(event) = @events << event # LEAK KEEPER
end

AGENT = Agent.new.tap(&:start)
Load.run(150) do |n|
  ActiveSupport::Notifications.instrument("query.shop", sql: "select * from orders where id = #{n}", rows: n % 100, binds: ["id #{n}", "state #{n % 5}"]) { n * 2 } # LEAK
  AGENT.send_events
end
