# google-protobuf 3.15.7 never frees the struct of an arena (protocolbuffers/protobuf#8455): some hundred bytes for each
# message, malloc'd, behind a Ruby object that is collected. 3.15.8 does.
#
# kind: native
# tuned: yes
# also: leak
# line: google/protobuf
# gems: google-protobuf 3.15.7
# mended: google-protobuf 3.15.8
require_relative "../load"
require "google/protobuf"
require "google/protobuf/struct_pb"

def answer(number) = Google::Protobuf::Value.new(number_value: number) # LEAK

Load.run(15_000) { |n| answer(n) }
