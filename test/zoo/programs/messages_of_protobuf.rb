# Messages of google-protobuf that were sent are kept for a resend which never comes. A message's fields are in an arena of malloc.
#
# kind: native
# also: leak
# line: google/protobuf
# keeper: SENT
# gems: google-protobuf 4.36.2
# rate: 360000
require_relative "../load"
require "google/protobuf"
require "google/protobuf/struct_pb"

SENT = []

def send_message(number)
  fields = Array.new(12) { |i| ["field #{i}", Google::Protobuf::Value.new(string_value: "value #{i} of message #{number}")] }.to_h # LEAK
  message = Google::Protobuf::Struct.new(fields: fields) # LEAK
  SENT << message # LEAK KEEPER
  Google::Protobuf::Struct.encode(message).bytesize
end

Load.run(60) { |n| send_message(n) } # LEAK
