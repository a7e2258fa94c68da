# A daemon registers an at_exit for each job, to remove what the job wrote; the block keeps the job's data.
#
# kind: leak
# tuned: yes
require_relative "../load"
def work(n)
  rows = Array.new(50) { |i| "row #{i} of export #{n}" } # LEAK
  path = "/tmp/export-#{n}"
  at_exit { File.delete(path) if File.exist?(path) && rows } # LEAK
  rows.sum(&:size)
end
Load.run(60) { |n| work(n) } # LEAK
exit!(0)
