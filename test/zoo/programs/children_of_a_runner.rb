# Healthy: a runner forks a process for each job, as Resque does, three at a time. A child loads the rows of its job for three seconds,
# works on them and ends. Each of them grows as long as it lives.
#
# kind: steady
# tuned: yes
# also: bloat, unknown
require_relative "../load"

def job(number)
  rows = []
  Load.run(20, seconds: 3) { |n| rows << Array.new(60) { |i| "row #{i} of page #{n} of job #{number}" } }
  rows.sum(&:size)
end

children = {}
Load.run(1) do |n|
  children.delete(Process.wait) if children.size >= 3
  children[fork { job(n) }] = n
end
children.each_key { |pid| Process.wait(pid) }
