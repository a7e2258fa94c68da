# frozen_string_literal: true

# Twelve threads wait for a queue that no other thread has. Others wait for what a thread has: a pool's queue, Timeout's thread, one
# that sleeps, one that is joined.
require "heapsample/sample_profile"
require "timeout"

def abandoned(count)
  queue = Queue.new
  count.times { |number| Thread.new { text = "what it holds #{number} " * 500; queue.pop; text } } # STUCK
  nil
end

JOBS = Queue.new
POOL = Array.new(3) { Thread.new { loop { JOBS.pop.call } } }
Timeout.timeout(10) { abandoned(12) }
sleeper = Thread.new { sleep }
Thread.new { sleeper.join }
sleep 0.3
GC.start
GC.sample_profile(why: true).save(ARGV.fetch(0))
