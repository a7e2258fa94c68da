# Large: a parcel service has its 150,000 stops in memory. Parcels are announced by messages of google-protobuf, and the
# address of each announcement is stored under the number of its parcel. The address is a part of the message, so it
# retains the arena of the whole message, with all texts of the announcement.
#
# kind: native
# also: leak
# line: google/protobuf
# keeper: @addresses, PARCELS, Parcels
# gems: google-protobuf 4.29.3
# starts: 6
# rate: 1300000
require_relative "../load"
require "google/protobuf"
require "google/protobuf/struct_pb"

class Parcels
  TOUR = 40_000

  def initialize = @addresses = {}

  def announce(number, bytes)
    announcement = Google::Protobuf::Struct.decode(bytes) # LEAK
    @addresses[number % TOUR] = announcement.fields["address"].struct_value # LEAK KEEPER
    announcement.fields["lines"].list_value.values.size
  end

  def town(number) = @addresses[number % TOUR]&.fields&.[]("town")&.string_value
end

Stop = Struct.new(:number, :name, :hours, :notes)

STOPS = Array.new(150_000) do |i|
  notes = Array.new(4) { |k| "note #{k} on stop #{i}: #{"ring twice and wait at the gate, " * 12}bell #{i * k % 90}" }
  Stop.new(i, "stop #{i} in town #{i % 900}, #{i * 7_919 % 250} Long Street", "from #{i % 12} to #{12 + (i % 9)} o'clock", notes)
end

def text(value) = Google::Protobuf::Value.new(string_value: value)

# The bytes of some announcements, as their senders have made them.
ANNOUNCEMENTS = Array.new(40) do |k|
  address = Google::Protobuf::Struct.new(fields: { "town" => text("town #{k * 31 % 900}"), "street" => text("#{k} Long Street") })
  lines = Array.new(70) { |i| text("line #{i} of announcement #{k}: article #{k * (i + 31) % 9_000}, #{"handle with care, " * 6}#{i % 40} kg") }
  fields = { "address" => Google::Protobuf::Value.new(struct_value: address),
             "lines" => Google::Protobuf::Value.new(list_value: Google::Protobuf::ListValue.new(values: lines)) }
  Google::Protobuf::Struct.encode(Google::Protobuf::Struct.new(fields: fields))
end.freeze

PARCELS = Parcels.new

Load.run(70) do |n|
  PARCELS.announce(n, ANNOUNCEMENTS[n % 40]) # LEAK
  10.times { |i| "#{PARCELS.town(n - i)}: #{STOPS[(n * 7_919 + i) % STOPS.size].notes.first.upcase}" }
end
