# frozen_string_literal: true

# Threads that compute, sleep or wait for a lock are killed: each ends, and its ensure runs.
class ThreadKills < Act
  def call
    begun = Queue.new
    ensured = Queue.new
    lock = Thread::Mutex.new.lock
    threads = Array.new(2 + @random.rand(12)) do |index|
      Thread.new do
        begun << true
        [-> { busy }, -> { sleep }, -> { lock.lock }][index % 3].call
      ensure
        ensured << index
      end
    end
    threads.size.times { begun.pop }
    sleep(@random.rand * 0.01)
    threads.each(&:kill)
    ended = threads.count { |thread| thread.join(PATIENCE) }
    lock.unlock
    "#{ended} of #{threads.size} ended, #{ensured.size} ensured"
  end
end
