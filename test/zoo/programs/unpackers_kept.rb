# A server has a MessagePack::Unpacker for each device that connects, with the part of a frame that has come so far. Devices that go
# silent in the middle of a frame stay, with what the C extension has in its buffers.
#
# kind: native
# tuned: yes
# also: leak
# line: msgpack/
# gems: msgpack 1.8.0
require_relative "../load"
require "msgpack"

class Devices
  def initialize = @unpackers = {}

  def received(device, data)
    unpacker = @unpackers[device] ||= MessagePack::Unpacker.new # LEAK KEEPER
    unpacker.feed_each(data) { |frame| @last = frame } # LEAK
    @unpackers.delete(device) unless device % 4 == 0
  end
end

DEVICES = Devices.new
FRAME = { "device" => 1, "values" => Array.new(3_000) { |i| i * 1.5 } }.to_msgpack

Load.run(60) { |n| DEVICES.received(n, n % 4 == 0 ? FRAME[0...-1] : FRAME) } # LEAK
