# A runner of workflows starts a step when the steps before it are done. Steps that wait are in a table under the
# number of the step that they wait for, and are taken out when it is done. A customer cancels an order now and then:
# the step that is due is dropped and never done, so the steps behind it wait for ever.
#
# kind: leak
# rate: 620000
require_relative "../load"

Step = Struct.new(:number, :name, :rows, :before)

class Runner
  attr_reader :done, :waiting

  def initialize
    @due = Thread::Queue.new
    @waiting = Hash.new { |waiting, number| waiting[number] = [] } # LEAK
    @cancelled = {}
    @done = Hash.new(0)
    @lock = Mutex.new
    @threads = Array.new(3) { Thread.new { loop { work(@due.pop) } } }
  end

  def add(steps)
    @lock.synchronize do
      steps.each { |step| step.before ? @waiting[step.before] << step : @due << step } # LEAK KEEPER
    end
  end

  def cancel(number) = @lock.synchronize { @cancelled[number] = true }

  private

  def work(step)
    return if @lock.synchronize { @cancelled.delete(step.number) }

    total = step.rows.sum { |row| row[:pieces] * row[:text].bytesize }
    @lock.synchronize do
      @done[step.name] += total
      @waiting.delete(step.number)&.each { |following| @due << following }
    end
  end
end

RUNNER = Runner.new
NAMES = %w[reserve charge pack announce ship].freeze

# About 6 KB.
def rows(order, step)
  Array.new(14) { |i| { pieces: i * order % 97, text: "row #{i} of step #{step} in order #{order}: #{"two chairs of oak, painted white, " * 9}" } } # LEAK
end

def steps(order)
  NAMES.each_with_index.map do |name, i|
    Step.new((order * 10) + i, name, rows(order, i), i.zero? ? nil : (order * 10) + i - 1) # LEAK
  end
end

# Every fifth order is cancelled when its first or second step is due.
Load.run(110) do |n|
  RUNNER.cancel((n * 10) + (n / 5 % 2)) if n % 5 == 0
  RUNNER.add(steps(n)) # LEAK
end
