# A leak that follows the load, which goes up and down in 15 seconds, and is zero at its lowest: each visit appends to the history
# of one of 50 users. A cache of sessions goes up and down as well.
#
# kind: leak
# rate: 30000
require_relative "../load"

User = Struct.new(:id, :history)
USERS = Array.new(50) { |id| User.new(id, []) }
SESSIONS = {}

def visit(number)
  USERS[number % 50].history << { page: "/page/#{number}", from: "campaign #{number % 300}", seconds: number % 90 } # LEAK KEEPER
  SESSIONS[number / 3] = [Load.seconds, Array.new(20) { |i| "item #{i} of session #{number / 3}" }]
  SESSIONS.delete_if { |_, (at, _)| at < Load.seconds - 4 } if number % 60 == 0
end

Load.run(->(second) { 120 * (1 - Math.cos(second * 2 * Math::PI / 15)) }) { |n| visit(n) } # LEAK
