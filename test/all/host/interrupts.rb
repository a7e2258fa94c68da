# frozen_string_literal: true

# Timeouts, Thread#raise and Thread#kill, as many as each line of stdin says: answers with the number of the interrupt that was lost
# (0: none), at which it stops, and how late the latest was, in seconds.

require "timeout"

class Wanted < StandardError; end

PATIENCE = 60
BALLAST = Array.new(100) { "x" * 1_000_000 }            # an account of more pages takes longer

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

# Until it is interrupted; when it was not, :lost.
def compute
  ends = now + PATIENCE
  100.times(&:to_s) while now < ends
  :lost
end

def timeout(seconds)
  begun = now
  Timeout.timeout(seconds) { compute }
rescue Timeout::Error
  now - begun - seconds
end

# A thread that computes, interrupted by the block after a while: how long until it has ended as it should.
def interrupted(seconds)
  ready = Thread::Queue.new
  thread = Thread.new do
    ready << true
    compute
  rescue Wanted
    :raised
  end
  ready.pop
  sleep(seconds)
  begun = now
  yield thread
  thread.join(PATIENCE) && thread.value != :lost ? now - begun : :lost
end

random = Random.new(1)
Thread.report_on_exception = false
$stdout.sync = true
puts "ready"
while (count = $stdin.gets)
  latest = 0.0
  lost = 0
  count.to_i.times do |index|
    seconds = random.rand * 0.004
    late = case index % 3
           when 0 then timeout(seconds)
           when 1 then interrupted(seconds) { |thread| thread.raise(Wanted) }
           else interrupted(seconds, &:kill)
           end
    # It took a minute, and so may each that follows.
    break lost = index + 1 if late == :lost

    latest = [latest, late].max
  end
  puts "#{lost} #{latest}"
end
