# A queue of jobs grows for twenty seconds, since a back end is slow, and then drains. Nothing is kept in the end.
#
# settles: 26
# kind: steady
# tuned: yes
# also: bloat
# seconds: 61
require_relative "../load"

JOBS = Thread::Queue.new
def job(number) = { id: number, arguments: Array.new(12) { |i| "argument #{i} of job #{number}" } }

WORKER = Thread.new do
  while (job = JOBS.pop)
    job[:arguments].sum(&:size)
    sleep 0.05 if Load.seconds < 22 && job[:id] % 5 == 0
  end
end

Load.run(200) do |n|
  JOBS << job(n)
  Array.new(50) { |i| "<li>#{n} #{i}</li>" }.join
end
