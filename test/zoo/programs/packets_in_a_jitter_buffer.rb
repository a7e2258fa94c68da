# Healthy: a video server has 30 streams. Packets come out of order; a packet waits four seconds in the buffer of its stream, is decoded in
# the right order by a thread, and dropped.
#
# kind: steady
# also: bloat
# settles: 6
require_relative "../load"

Packet = Struct.new(:number, :time, :payload)

class Stream
  def initialize
    @lock = Mutex.new
    @packets = {}
    @next = 0
  end

  def receive(packet) = @lock.synchronize { @packets[packet.number] = packet if packet.number >= @next }

  # What is older than four seconds.
  def due(now)
    @lock.synchronize do
      found = []
      while (packet = @packets[@next]) && packet.time < now - 4
        found << @packets.delete(@next)
        @next += 1
      end
      found
    end
  end
end

STREAMS = Array.new(30) { Stream.new }

DECODER = Thread.new do
  loop do
    STREAMS.each { |stream| stream.due(Load.seconds).each { |packet| packet.payload.unpack("N700").each_slice(10).map { |part| part.sum % 255 }.pack("C*") } }
    sleep 0.02
  end
end

Load.run(1_500) do |n|
  index = n - 1
  number = (index / 30) ^ 1 # pairs come the wrong way round
  STREAMS[index % 30].receive(Packet.new(number, Load.seconds, "frame #{number} ".ljust(18_000 + (n % 7 * 1_000), "\x11\x83\x5f")))
end
