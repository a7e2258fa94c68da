# Orders are handled one at a time by a lock for each, in a Concurrent::Map. Nobody takes a lock out again when the order is
# done: some hundred KiB a second of keys and monitors.
#
# kind: leak
# tuned: yes
# line: concurrent/
# gems: concurrent-ruby 1.3.4
require_relative "../load"
require "concurrent"
require "monitor"

module Locks
  LOCKS = Concurrent::Map.new

  def self.of(key) = LOCKS.compute_if_absent(key) { Monitor.new } # LEAK KEEPER
end

def pay(number)
  Locks.of("orders/#{number}/payment").synchronize { Array.new(60) { |i| "line #{i} of #{number}" }.join(", ").size } # LEAK
end

Load.run(500) { |n| pay(n) }
