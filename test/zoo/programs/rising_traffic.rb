# Healthy: the visitors get more and more for the whole time. Each request takes four seconds, and leaves nothing: so ever more is in
# use, and nothing of it gets old.
#
# kind: steady
# tuned: yes
# also: bloat
require_relative "../load"

Request = Struct.new(:done, :path, :rows)

class Server
  def initialize = @under_way = []

  def accept(number)
    @under_way << Request.new(Load.seconds + 4, "/orders/#{number}", Array.new(50) { |i| "row #{i} of #{number}" })
    @under_way.shift while @under_way.first.done < Load.seconds
  end
end

SERVER = Server.new
Load.run(->(second) { 10 + (7 * second) }) { |n| SERVER.accept(n) }
