# A dispatcher knows two million addresses and keeps a Hash of the shipments that are under way, with the shipment as the key. A shipment is
# a Struct, and its hash changes with its status: after "delivered" the Hash does not find it, and nothing is deleted.
#
# kind: leak
# starts: 4
# rate: 1130000
require_relative "../load"

Address = Struct.new(:street, :city, :code, :north, :east)
CITIES = Array.new(2_000) { |i| "City of #{i}" }
ADDRESSES = Array.new(2_000_000) { |i| Address.new("#{i % 240} Street of the #{i / 240}th Regiment", CITIES[i % 2_000], "P#{i / 30}", i * 0.001, i * 0.002) }

Shipment = Struct.new(:number, :status, :parcels)

class Dispatch
  def initialize = @under_way = {}

  def start(number)
    shipment = Shipment.new(number, "packed", Array.new(60) { |i| "parcel #{i} of the shipment #{number}: #{ADDRESSES[number * 60 + i].code}, #{i % 30} kg, not to be turned" }) # LEAK
    @under_way[shipment] = Load.seconds # LEAK KEEPER
    shipment
  end

  def finish(shipment)
    shipment.status = "delivered"
    @under_way.delete(shipment)
  end
end

def tour(number)
  places = ADDRESSES[number * 97 % 1_190_000, 130]
  here = places.first
  places.sort_by { |place| (place.north - here.north).abs + (place.east - here.east) }.map { |place| "#{place.street}, #{place.code} #{place.city}" }.join(" > ")
end

DISPATCH = Dispatch.new
Load.run(110) do |n|
  shipment = DISPATCH.start(n) # LEAK
  32.times { |i| tour((n * 32) + i) }
  DISPATCH.finish(shipment)
end
