# frozen_string_literal: true

# The gem async: fibers wait for what nobody has, in tasks that the reactor keeps; others wait for what somebody has, for a time,
# for a task, or in a pool at rest. Fails unless the first alone are told, with where they wait. Of those one or two may be
# missing: a machine stack may still have what they wait for.
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

def line(mark) = File.readlines(__FILE__).index { |text| text.end_with?("# #{mark}\n") } + 1

Async do
  Async { at_rest }
  Async { lost(4) }
  Async { forgotten(3) }
  4.times { Async { deadlocked } }
  Async { Array.new(200) { |number| number.to_s } }       # over what is left behind on stacks
  sleep 0.5
  GC.start
  stuck = GC.sample_profile(why: true).report.stuck
  found = stuck.map { |place| [place.what, File.basename(place.path), place.line, place.threads] }
  conditions, found = found.partition { |_, file,| file == "condition.rb" }
  counts = found.to_h { |what, file, number, count| [[what, file, number], count] }
  expected = {["fiber waits for Thread::Queue", "async.rb", line("QUEUE")] => 3..4, ["fiber waits for Thread::Queue", "async.rb", line("PAIR")] => 2..8}
  good = counts.size == 2 && expected.all? { |place, range| range.cover?(counts[place]) } && (2..3).cover?(conditions.sum(&:last)) &&
         stuck.all?(&:fibers?) && stuck.sum(&:space) > 3 * 4096
  puts "expected #{expected} and 3 in condition.rb", "found #{counts} #{conditions}", stuck.map(&:space).inspect unless good
  $stdout.flush
  exit!(good)
end
