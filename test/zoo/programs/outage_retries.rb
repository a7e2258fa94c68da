# Jobs go to a service that is down from second 9 to second 22: they wait in a retry set with their arguments, and are
# done by second 30.
#
# kind: steady
# tuned: yes
# also: bloat
# settles: 26
require_relative "../load"
RETRY = []
def perform(n, body) = (9..22).cover?(Load.seconds) ? RETRY << { job: n, body: body, error: "refused #{n}", at: Load.seconds } : body.size
def again = 3.times { (job = RETRY.shift) && perform(job[:job], job[:body]) }
Load.run(120) { |n| perform(n, Array.new(20) { |i| "argument #{i} of #{n}" }); again if Load.seconds > 22 }
