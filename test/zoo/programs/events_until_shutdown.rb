# Each job hangs a callback on one event, that of the shutdown, which never comes while the server runs (concurrent-ruby).
#
# kind: leak
# tuned: yes
# line: concurrent/
# keeper: concurrent/, Concurrent::Promises, SHUTDOWN
# gems: concurrent-ruby 1.3.4
require_relative "../load"
require "concurrent"

SHUTDOWN = Concurrent::Promises.resolvable_event

def job(number)
  progress = { number: number, steps: Array.new(10) { |i| "step #{i} of #{number}" } } # LEAK
  SHUTDOWN.on_resolution { progress.clear } # LEAK KEEPER
  Array.new(80) { |i| "#{number} #{i}" }.join
end

Load.run(120) { |n| job(n) } # LEAK
