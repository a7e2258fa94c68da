# A service collects its metrics in a thread of its own, and sends what it has every half second. The server of the
# metrics refuses a batch above 1,500 points. A refused batch is put in front of the points that came since, so the next
# batch is larger still and is refused, too. Only the first batches got through, before the traffic rose.
#
# kind: leak
# keeper: @points, SENDER, Sender
# starts: 6
# rate: 1550000
require_relative "../load"
require "json"

# What the server of the metrics does.
class Receiver
  LIMIT = 1_500

  attr_reader :seen

  def initialize
    @seen = 0
  end

  def post(points)
    return 413 if points.size > LIMIT

    @seen += points.sum { |point| JSON.dump(point).bytesize }
    202
  end
end

class Sender
  EVERY = 0.5
  Point = Struct.new(:name, :moment, :value, :tags, :trace)

  def initialize(receiver)
    @receiver = receiver
    @points = []
    @lock = Mutex.new
    @thread = Thread.new { loop { sleep(EVERY).then { flush } } }
    @thread.name = "metrics"
  end

  def add(name, value, tags)
    point = Point.new(name, Process.clock_gettime(Process::CLOCK_REALTIME), value, tags, "#{name} of #{tags["path"]} by #{tags["customer"]}, #{"called by the gate of the shop, " * 6}in time") # LEAK
    @lock.synchronize { @points << point } # LEAK KEEPER
  end

  private

  def flush
    batch = @lock.synchronize { @points.tap { @points = [] } }
    return if batch.empty?

    status = @receiver.post(batch)
    @lock.synchronize { @points = batch.concat(@points) } if status >= 400 # KEEPER
  end
end

SENDER = Sender.new(Receiver.new)
STAGES = %w[router session rules stock prices taxes template headers].freeze

# A request has a point for each of its stages.
Load.run(->(second) { second < 5 ? 25 : 420 }) do |n|
  tags = { "path" => "/shops/#{n % 30}/orders/#{n}", "customer" => "customer #{n * 7_919 % 90_000}", "agent" => "a browser of version #{n % 130} on a phone" } # LEAK
  STAGES.each_with_index { |stage, i| SENDER.add("shop.#{stage}", (i * 31) + (n % 17), tags) } # LEAK
end
