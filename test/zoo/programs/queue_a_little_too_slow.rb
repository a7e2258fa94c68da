# A worker takes 90 jobs a second, and 100 come: the queue gets longer by ten a second, for ever. Nothing drops a job.
#
# kind: leak
# rate: 29000
# every: 10
require_relative "../load"

QUEUE = Thread::Queue.new
Thread.new do
  due = Load.seconds
  while (job = QUEUE.pop)
    job[:rows].map(&:reverse).join.size
    due += 1 / 90.0
    sleep [due - Load.seconds, 0].max
  end
end

Load.run(100) { |n| QUEUE << { id: n, rows: Array.new(30) { |i| "row #{i} of job #{n}" } } } # LEAK KEEPER
