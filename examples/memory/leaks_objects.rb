# frozen_string_literal: true

# A message bus that leaks objects. Every request subscribes a listener and forgets to take it off again; each is
# a small object, and so is all it holds. Nothing of it is malloc's: a slot of Ruby's heap has room for it.

Listener = Struct.new(:id, :topic, :options)

class Bus
  def initialize
    @listeners = []
  end

  def subscribe(id)
    @listeners << Listener.new(id, "order.#{id % 100}", {once: true})
  end

  def size = @listeners.size
end

class Shop
  def initialize(bus)
    @bus = bus
  end

  def request(id)
    @bus.subscribe(id)
    Array.new(20) { |number| "line #{number} of order #{id}" }.join("\n").bytesize
  end
end

requests = Integer(ARGV.fetch(0, 150_000))
bus = Bus.new
shop = Shop.new(bus)
1.upto(requests) { |id| shop.request(id) }
GC.start
puts "retained: #{bus.size} listeners, each with a string and a hash"
