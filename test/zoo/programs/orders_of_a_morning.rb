# Healthy: from a tenth of the run on, orders come faster than a worker thread fulfils them; the queue gets long until four
# tenths, and then the worker catches up and the queue is empty again.
#
# kind: steady
# also: bloat
# settles: 40%
# every: 10
require_relative "../load"

QUEUE = Thread::Queue.new
Thread.new do
  due = 0.0
  while (order = QUEUE.pop)
    order[:lines].map(&:upcase)
    due = [due, Load.seconds].max + (1 / 160.0)
    sleep [due - Load.seconds, 0].max
  end
end

MORNING = (0.1 * Load::SECONDS)..(0.4 * Load::SECONDS)
Load.run(->(second) { MORNING.cover?(second) ? 240 : 70 }) do |n|
  QUEUE << { number: n, lines: Array.new(25) { |i| "#{i} pieces of article #{n % 700}, order #{n}" } }
end
