# Healthy: for three seconds of fifteen, a crowd comes with 900 requests a second, and each visitor has a place in a waiting
# room until the crowd is gone; then nothing happens.
#
# kind: steady
# also: bloat
# settles: 4
require_relative "../load"

class WaitingRoom
  def initialize = @places = []

  def enter(number)
    @places.clear if @crowd != (Load.seconds / 15).floor
    @crowd = (Load.seconds / 15).floor
    @places << { visitor: "visitor #{number}", token: (number * 7919).to_s(36), seen: Array.new(6) { |i| "page #{i} for #{number}" } }
  end
end

ROOM = WaitingRoom.new
Load.run(->(second) { second % 15 < 3 ? 900 : 0 }) { |n| ROOM.enter(n) }
