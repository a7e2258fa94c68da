# Healthy: an importer of log files deduplicates the names of hosts (String#-@) and counts them. There are 30,000 hosts,
# and they come in the order of their numbers, a file at a time: all of them are there after half of the run.
#
# kind: steady
# also: bloat
# settles: 50%
require_relative "../load"

COUNTS = Hash.new(0)
HOSTS = 30_000
PER_SECOND = HOSTS * 2 / Load::SECONDS
Load.run(PER_SECOND) do |n|
  name = -"host-#{n % HOSTS}.rack-#{n % HOSTS / 40}.example.org"
  COUNTS[name] += 1
end
