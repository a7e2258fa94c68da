# Healthy: an outbox collects messages, packed by msgpack, until it has 1.5 MB, and sends all of them in one go: a sawtooth
# of eight seconds. Next to it, a table of the last numbers of each of 500 receivers.
#
# kind: steady
# also: bloat
# settles: 9
# gems: msgpack 1.8.0
require_relative "../load"
require "msgpack"

class Outbox
  LIMIT = 1_500_000

  def initialize = (@messages, @bytes, @last = [], 0, {})

  def add(receiver, message)
    packed = MessagePack.pack(message)
    @messages << packed
    @last[receiver] = message["number"]
    send_all if (@bytes += packed.bytesize) > LIMIT
  end

  private

  def send_all
    @messages.map(&:bytesize).sum
    @messages, @bytes = [], 0
  end
end

OUTBOX = Outbox.new
Load.run(300) { |n| OUTBOX.add(n % 500, "number" => n, "text" => "message #{n} " * 40, "tags" => Array.new(5) { |i| "tag-#{(n + i) % 40}" }) }
