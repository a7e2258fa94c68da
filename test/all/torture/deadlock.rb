# frozen_string_literal: true

# Stands still in MRI's deadlock of an ending Ractor, a barrier and a thread that comes back (Hang#barrier_deadlock?),
# mostly within seconds: threads that come back for the GVL all the time, and Ractors that collect and end.
# Usage: ruby -W0 deadlock.rb SECONDS       ends after these if it did not come about

class Deadlock
  THREADS = 6
  RACTORS = 4
  OBJECTS = 50

  def self.now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def self.seek(seconds)
    give_up = now + seconds
    THREADS.times { Thread.new { loop { sleep(0.0001) } } }
    start_and_take until now > give_up
  end

  def self.start_and_take
    Array.new(RACTORS) do
      Ractor.new(OBJECTS) do |objects|
        objects.times { Object.new }
        GC.start
      end
    end.each(&:take)
  end
  private_class_method :start_and_take
end

Deadlock.seek(Float(ARGV.fetch(0)))
