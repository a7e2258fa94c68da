# Healthy: an order is packed, waits 15 seconds in a queue for its parcel, and is dropped. The queue has the same length all the time.
#
# kind: steady
# also: bloat
# settles: 17
require_relative "../load"

Order = Struct.new(:number, :due, :positions)
TRANSIT = Thread::Queue.new
DRIVERS = Array.new(3) do
  Thread.new do
    while (order = TRANSIT.pop)
      sleep([order.due - Load.seconds, 0].max)
      order.positions.sum { |position| position[:weight] }
    end
  end
end

Load.run(500) do |n|
  positions = Array.new(40) { |i| { article: "article #{i} of order #{n}", weight: i * 0.2, place: "shelf #{(n + i) % 700}" } }
  TRANSIT << Order.new(n, Load.seconds + 15, positions)
end
TRANSIT.close
DRIVERS.each(&:kill)
