# A pool starts a thread when all are busy, at most 80; the load rises for twenty seconds and stays. The threads stay
# in the pool.
#
# kind: steady
# tuned: yes
# also: bloat
# settles: 24
require_relative "../load"
class Pool
  MOST = 80
  def initialize = (@queue, @threads, @busy, @lock = Queue.new, [], 0, Mutex.new)

  def post(&job)
    @lock.synchronize { @threads << Thread.new { run } if @busy >= @threads.size && @threads.size < MOST; @busy += 1 }
    @queue << job
  end

  def run = loop { @queue.pop.call; @lock.synchronize { @busy -= 1 } }
end
POOL = Pool.new
Load.run(->(second) { [second * 4, 80].min }) { |n| POOL.post { sleep 1.1; "done #{n}" * 10 } }
