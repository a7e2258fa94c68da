# Each request schedules a reminder in an hour by concurrent-ruby and never cancels it, also when the order is paid: the
# timers' queue keeps the task, and the task the order.
#
# kind: leak
# tuned: yes
# line: concurrent-ruby/concurrent, concurrent/
# keeper: non_concurrent_priority_queue.rb, timer_set.rb, @queue
# gems: concurrent-ruby 1.3.4
require_relative "../load"
require "concurrent"

class Order
  def initialize(number) = @lines = Array.new(30) { |i| "article #{i} of #{number}" } # LEAK
  def remind = @lines.size
end

def checkout(number)
  order = Order.new(number) # LEAK
  Concurrent::ScheduledTask.execute(3600) { order.remind } # LEAK KEEPER
  Array.new(100) { |i| "<li>#{number} #{i}</li>" }.join
end

Load.run(100) { |n| checkout(n) }
