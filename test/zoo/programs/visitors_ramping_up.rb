# Healthy: the load ramps up over half of the run, from 5 to 120 requests a second, and stays there. Each request is open
# for three seconds with its buffer of 32 KB and its rows.
#
# kind: steady
# also: bloat
# settles: 55%
# every: 10
require_relative "../load"

Visit = Struct.new(:ends, :buffer, :rows)
OPEN = []
RAMP = Load::SECONDS / 2

def visit(number)
  OPEN << Visit.new(Load.seconds + 3, "x" * 32_768, Array.new(30) { |i| "row #{i} of visit #{number}" })
  OPEN.shift while OPEN.first.ends < Load.seconds
end

Load.run(->(second) { 5 + (115 * [second / RAMP, 1].min) }) { |n| visit(n) }
