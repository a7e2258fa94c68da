# Every fourth second a job waits for a signal that its producer has given before, and waits for ever (ConditionVariable):
# a lost wakeup. Its thread, with its stack and its rows, is never done. The other jobs end.
#
# kind: threads
# also: leak
# rate: 310000
require_relative "../load"

class Job
  def initialize(number) = (@number, @lock, @ready = number, Mutex.new, ConditionVariable.new)

  def start(late:)
    @lock.synchronize { @ready.signal } if late
    Thread.new { work } # LEAK
    sleep 0.005
    @lock.synchronize { @ready.signal } unless late
  end

  private

  def work
    rows = Array.new(400) { |i| "row #{i} of job #{@number}" } # LEAK
    @lock.synchronize { @ready.wait(@lock) } # LEAK
    rows.sum(&:size)
  end
end

Load.run(4) { |n| Job.new(n).start(late: n % 16 == 0) } # LEAK
