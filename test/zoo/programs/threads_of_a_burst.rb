# Healthy: Concurrent's cached pool starts threads for a burst of jobs every 14 seconds, up to 40 of them, and ends those that
# have been idle for four seconds.
#
# kind: steady
# also: bloat
# settles: 6
# gems: concurrent-ruby 1.3.4
require_relative "../load"
require "concurrent"

POOL = Concurrent::ThreadPoolExecutor.new(min_threads: 2, max_threads: 40, max_queue: 1_000, idletime: 4)

def job(number)
  rows = Array.new(500) { |i| "row #{i} of job #{number}" }
  sleep 0.8
  rows.map(&:size).sum
end

Load.run(->(second) { second % 14 < 5 ? 45 : 2 }) do |n|
  POOL.post { job(n) }
  POOL.prune_pool if n % 5 == 0
end
