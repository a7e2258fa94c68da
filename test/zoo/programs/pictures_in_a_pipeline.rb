# Healthy: cameras of a road send pictures to a pipeline of two threads, which decode them and find the plates. The
# queues in front of the threads have room for 150 pictures each (SizedQueue). Plates are found more slowly than
# pictures come, so the second queue fills, and then the first one. From then on pictures are left out.
#
# kind: steady
# also: bloat
# settles: 23
require_relative "../load"

Picture = Struct.new(:camera, :number, :pixels, :plates)

class Pipeline
  ROOM = 150

  attr_reader :left_out

  def initialize
    @arrived = Thread::SizedQueue.new(ROOM)
    @decoded = Thread::SizedQueue.new(ROOM)
    @written = []
    @left_out = 0
    @threads = [Thread.new { decode }, Thread.new { find_plates }]
  end

  def put(picture)
    @arrived.push(picture, true)
  rescue ThreadError # the queue is full
    @left_out += 1
  end

  private

  def decode
    loop do
      picture = @arrived.pop
      picture.pixels = picture.pixels.tr("0-9", "9876543210")
      @decoded << picture
    end
  end

  # Eighteen pictures a second by the clock.
  def find_plates
    (1..).each do |count|
      picture = @decoded.pop
      picture.plates = picture.pixels.byteslice(0, 2_000).each_byte.each_slice(500).map(&:sum)
      @written = [*@written.last(20), "camera #{picture.camera}: #{picture.plates.join("-")}"]
      wait = (count / 18.0) - Load.seconds
      sleep(wait) if wait > 0
    end
  end
end

PIPELINE = Pipeline.new

Load.run(32) do |n|
  PIPELINE.put(Picture.new(n % 12, n, "#{n}".rjust(8) * 11_000, nil))
end
