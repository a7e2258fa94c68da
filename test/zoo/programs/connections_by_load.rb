# Healthy: a pool of at most thirty connections (connection_pool) makes one when all are busy. For twenty-four seconds ever more
# threads work at a time; each connection has buffers of 300 KB that it keeps.
#
# kind: steady
# tuned: yes
# also: bloat
# settles: 27
# gems: connection_pool 2.5.0
require_relative "../load"
require "connection_pool"

class Connection
  def initialize = @buffers = Array.new(3) { "x" * 100_000 }
  def query(number) = "answer #{number}" * 20
end

POOL = ConnectionPool.new(size: 30, timeout: 30) { Connection.new }
JOBS = Thread::Queue.new

Array.new(30) do
  Thread.new do
    while (number = JOBS.pop)
      POOL.with { |connection| connection.query(number).tap { sleep 0.5 } }
    end
  end
end

Load.run(->(second) { 2 * [second + 2, 26].min }) { |n| JOBS << n }
JOBS.close
