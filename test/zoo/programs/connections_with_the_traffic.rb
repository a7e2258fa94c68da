# Healthy: the traffic grows for the whole run, from 10 to 400 requests a second. A connection is open for five seconds, so that
# ever more are open; memory for each request a second stays the same. It never reaches a level, and nothing gets old.
#
# kind: steady
# also: bloat
# every: 60
require_relative "../load"

Connection = Struct.new(:closes, :id, :buffer, :headers)
OPEN = []

def accept(number)
  OPEN << Connection.new(Load.seconds + 5, number, String.new("GET /#{number} " * 160), { "host" => "host-#{number % 9}", "cookie" => "id=#{number}" })
  OPEN.shift while OPEN.first.closes < Load.seconds
  OPEN.sample(3).each { |connection| connection.buffer.replace("reply to #{number} " * 160) }
end

Load.run(->(second) { 10 + (390 * second / Load::SECONDS) }) { |n| accept(n) }
