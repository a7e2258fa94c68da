# frozen_string_literal: true

# Bytes through pipes and pairs of sockets, each in its place.
class Pipes < Act
  def call
    bytes = @random.bytes(1000 + @random.rand(300_000))
    read, write = @random.rand(2).zero? ? IO.pipe : UNIXSocket.pair
    writer = Thread.new { write.write(bytes) && write.close }
    got = read.read
    writer.join
    read.close
    "#{got.bytesize} of #{bytes.bytesize}, the same: #{got.b == bytes}"
  end
end
