# Healthy: a report every five seconds makes 60 MB of garbage in a third of a second, in strings that are doubled and joined, and
# leaves 10 KB of totals, of which the last 40 are kept.
#
# kind: steady
# settles: 0
require_relative "../load"

TOTALS = []
LINE = ("a cell of a report;" * 50).freeze

def report(number)
  lines = Array.new(20_000) { |i| "#{i}:#{LINE}" }
  text = lines.each_slice(500).map { |slice| slice.join("\n") }.join("\n")
  TOTALS << Array.new(100) { |i| "total #{i} of report #{number}: #{text.bytesize + i}" }
  TOTALS.shift if TOTALS.size > 40
end

done = 0
Load.run(40) do |n|
  report(done += 1) if Load.seconds > done * 5
  "small request #{n}" * 5
end
