# Failed logins are counted by address in a Concurrent::Map; each four seconds a timer takes away what is older than four.
#
# kind: steady
# tuned: yes
# also: bloat
# settles: 8
# gems: concurrent-ruby 1.3.4
require_relative "../load"
require "concurrent"

FAILED = Concurrent::Map.new
Concurrent::TimerTask.execute(execution_interval: 4) do
  FAILED.each_pair { |address, entry| FAILED.delete(address) if Load.seconds - entry[:at] > 4 }
end

Load.run(300) do |n|
  FAILED["10.#{n / 60_000}.#{n / 250 % 250}.#{n % 250}"] = { at: Load.seconds, names: ["user #{n}", "agent #{n % 30}"] }
  Array.new(40) { |i| "#{n} #{i}" }.join
end
