# Large: a broker loads the topics and their retained messages at the start. A message that no subscriber takes goes to a queue of
# dead letters, which no thread empties.
#
# kind: leak
# keeper: @dead_letters, BROKER
# starts: 6
# rate: 1100000
require_relative "../load"

class Message
  attr_reader :topic

  def initialize(topic, number) = (@topic, @number, @payload = topic, number, "#{topic} #{number} has the payload #{number * 7919} ".ljust(1_800, "payload ")) # LEAK
  def size = @payload.size
end

class Broker
  def initialize
    @retained = Array.new(4_000) { |topic| Array.new(110) { |i| Message.new("topic/#{topic}", i) } }
    @inbox = Thread::Queue.new
    @dead_letters = Thread::Queue.new
  end

  def publish(message) = @inbox << message

  def deliver
    while (message = @inbox.pop)
      message.topic.end_with?("0") ? (@dead_letters << message) : message.size # LEAK KEEPER
    end
  end

  def stop = @inbox.close
end

BROKER = Broker.new
DELIVERY = Thread.new { BROKER.deliver }
Load.run(2500) { |n| BROKER.publish(Message.new("topic/#{n % 5 == 0 ? n % 400 * 10 : 1}", n)) } # LEAK
BROKER.stop
DELIVERY.join
