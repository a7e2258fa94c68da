# A consumer reads eight of the 24 partitions of a topic. A thread fetches messages ahead, into a
# queue for each partition and assignment, and pauses where 200 messages wait. Every second the group is balanced anew,
# and other partitions are assigned. The consumer takes messages from its newest assignment only. The queues of the
# assignments before stay, with the messages that were fetched ahead.
#
# kind: leak
# keeper: @ahead, CONSUMER, Consumer
# starts: 2
# rate: 1420000
require_relative "../load"

# The broker: each message is made when it is fetched.
module Broker
  Message = Struct.new(:source, :offset, :key, :payload, :headers)

  module_function

  def fetch(partition, offset)
    payload = "parcel #{offset} of depot #{partition}: #{"scanned at the belt, weighed and sorted; " * 11}next stop #{offset * 31 % 977}" # LEAK
    Message.new(partition, offset, "parcel-#{offset * 7_919 % 1_000_003}", payload, { "source" => "depot #{partition}", "moment" => offset.to_s }) # LEAK
  end
end

class Consumer
  AHEAD = 200

  attr_reader :generation

  def initialize
    @ahead = {}
    @offsets = Hash.new(0)
    @generation = 0
    assign
    @fetcher = Thread.new { loop { fetch.then { sleep 0.05 } } }
    @fetcher.name = "fetcher"
  end

  # The group is balanced anew.
  def assign
    number = @generation + 1
    @partitions = Array.new(8) { |i| ((number * 5) + (i * 3)) % 24 }
    @partitions.each { |partition| @ahead[[number, partition]] = Thread::Queue.new } # KEEPER
    @generation = number
  end

  def poll
    @partitions.each do |partition|
      queue = @ahead[[@generation, partition]]
      return queue.pop unless queue.empty?
    end
    nil
  end

  private

  # At most twenty messages for each partition at a time.
  def fetch
    generation = @generation
    @partitions.dup.each do |partition|
      queue = @ahead[[generation, partition]] or next
      20.times { queue << Broker.fetch(partition, @offsets[partition] += 1) if queue.size < AHEAD } # LEAK KEEPER
    end
  end
end

CONSUMER = Consumer.new
SEEN = Hash.new(0)

Load.run(200) do |n|
  message = CONSUMER.poll
  SEEN[message.source] += message.payload.bytesize if message
  CONSUMER.assign if n % 200 == 0
end
