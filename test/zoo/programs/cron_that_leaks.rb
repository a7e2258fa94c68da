# A job every five seconds loads a report of some 2 MB into a list that nobody empties.
#
# kind: leak
# tuned: yes
require_relative "../load"
REPORTS = []
def report(number) = REPORTS << Array.new(9_000) { |i| "report #{number} line #{i} of #{Process.pid} with some more text" } # LEAK KEEPER
number = 0
Load.run(60) do |n|
  report(number += 1) if Load.seconds > (number + 1) * 5 # LEAK
  Array.new(60) { |i| "#{n} #{i}" }.join
end
