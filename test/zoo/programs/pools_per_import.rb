# Each import makes a pool of two threads for its lines, waits for the answers and forgets to shut the pool down. The threads wait for
# more work for ever, and keep the pool. The mended program shuts it down.
#
# kind: threads
# tuned: yes
# line: concurrent/
# gems: concurrent-ruby 1.3.4
# mended: concurrent-ruby 1.3.4
require_relative "../load"
require "concurrent"

def import(number)
  pool = Concurrent::FixedThreadPool.new(2) # LEAK
  lines = Array.new(4) { |i| Concurrent::Future.execute(executor: pool) { "line #{i} of import #{number}".upcase } } # LEAK
  lines.sum { |line| line.value.size }
ensure
  pool.shutdown if ENV["ZOO_MENDED"] == "1"
end

Load.run(4) { |n| import(n) }
