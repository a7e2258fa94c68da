# frozen_string_literal: true

# Twelve threads wait for a queue that nobody else has; others wait for what somebody has: a pool's queue, Timeout's thread, one
# that sleeps, one that is joined. Fails unless the twelve alone are told, with where they wait.
require "heapsample/sample_profile"
require "timeout"

def abandoned(count)
  queue = Queue.new
  count.times { |number| Thread.new { text = "what it holds #{number} " * 500; queue.pop; text } } # STUCK
  nil
end

LINE = File.readlines(__FILE__).index { |line| line.end_with?("# STUCK\n") } + 1
JOBS = Queue.new
POOL = Array.new(3) { Thread.new { loop { JOBS.pop.call } } }
Timeout.timeout(10) { abandoned(12) }
sleeper = Thread.new { sleep }
Thread.new { sleeper.join }
sleep 0.3
GC.start
stuck = GC.sample_profile(why: true).report.stuck
found = stuck.map { |place| [place.what, File.basename(place.path), place.line, place.threads] }
expected = [["waits for Thread::Queue", File.basename(__FILE__), LINE, 12]]
exit if found == expected && stuck.first.space > 12 * 8000

puts "expected #{expected}", "found #{found}", stuck.map(&:space)
exit 1
