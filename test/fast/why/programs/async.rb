# frozen_string_literal: true

# The gem async: fibers wait for what no other fiber has, in tasks that the reactor retains. Others wait for what another has, for
# a time, for a task, or in a pool at rest.
require "async"
require "async/queue"
require "async/semaphore"
require "async/barrier"
require "heapsample/sample_profile"

JOBS = Async::Queue.new
def lost(count) = count.times { Async { queue = Thread::Queue.new; text = "what it holds " * 500; queue.pop; text } } # QUEUE
def forgotten(count) = count.times { Async { condition = Async::Condition.new; list = Array.new(500); condition.wait; list } } # CONDITION

def deadlocked
  one, other = Thread::Queue.new, Thread::Queue.new
  [[one, other], [other, one]].each { |mine, theirs| Async { mine.pop && theirs.push(1) } } # PAIR
  nil # or the task has both as its result
end

def at_rest
  3.times { Async { JOBS.dequeue } }
  Async { |task| task.with_timeout(100) { Thread::Queue.new.pop } }
  Async { Thread::Queue.new.pop(timeout: 100) }
  Async { sleep }
  Async { |task| task.async { sleep 100 }.wait }
  Async { Async::Barrier.new.tap { |barrier| barrier.async { sleep 100 } }.wait }
  pool = Async::Semaphore.new(1)
  2.times { Async { pool.acquire { sleep 100 } } }
  lock = Thread::Mutex.new
  2.times { Async { lock.synchronize { sleep 100 } } }
  Async { Thread.new { sleep 100 }.join }
  Async { IO.pipe.first.read }
end

Async do
  Async { at_rest }
  Async { lost(4) }
  Async { forgotten(3) }
  4.times { Async { deadlocked } }
  Async { Array.new(200) { |number| number.to_s } }       # over what is left behind on stacks
  sleep 0.5
  GC.start
  GC.sample_profile(why: true).save(ARGV.fetch(0))
  exit!(0)
end
