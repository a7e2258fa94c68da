# Large: a broker has the history of 11,000 accounts in memory. An order subscribes two methods at an event bus until it
# is done. The bus remembers which callbacks a topic has, so that it need not look for them at each event. An end of a
# subscription forgets what the bus remembers of the subscribed name, "orders.7", but not of "orders.7.filled" below it.
#
# kind: leak
# keeper: @resolved, BUS, Bus
# starts: 4
# rate: 1750000
require_relative "../load"

class Bus
  NONE = [].freeze

  def initialize
    @callbacks = {}
    @resolved = {}
  end

  def subscribe(name, callback)
    (@callbacks[name] ||= []).push(callback)
    forget(name)
  end

  def unsubscribe(name, callback)
    @callbacks[name].delete(callback)
    @callbacks.delete(name) if @callbacks[name].empty?
    forget(name)
  end

  def publish(topic, event)
    callbacks = @resolved[topic] ||= resolve(topic) # LEAK KEEPER
    callbacks.each { |callback| callback.call(event) }
  end

  private

  def forget(name) = @resolved.delete(name)

  # A callback of "orders.7" gets the events of "orders.7.filled" too.
  def resolve(topic)
    words = topic.split(".")
    (1..words.size).flat_map { |count| @callbacks.fetch(words.first(count).join("."), NONE) } # LEAK
  end
end

class Order
  Fill = Struct.new(:price, :quantity, :venue, :note)

  attr_reader :number

  def initialize(number, account)
    @number = number
    @account = account
    @terms = Array.new(10) { |i| "term #{i} of order #{number}: #{"good until the close of the venue, " * 12}limit #{number * i % 9_001}" } # LEAK
    @fills = []
  end

  def open(bus)
    @handlers = [method(:filled), method(:priced)] # LEAK
    @handlers.each { |handler| bus.subscribe("orders.#{@number}", handler) }
  end

  def close(bus)
    @handlers.each { |handler| bus.unsubscribe("orders.#{@number}", handler) }
    @account.lines[@number % @account.lines.size] = "order #{@number}: #{@fills.sum(&:quantity)} pieces, #{@fills.last&.note}"
  end

  def filled(event)
    return unless event[:quantity]

    @fills << Fill.new(event[:price], event[:quantity], event[:venue], "#{"filled at the best price of the book, " * 8}#{event[:price]}") # LEAK
  end

  def priced(event) = @last = event[:price]
end

Account = Struct.new(:name, :lines)

class Audit
  def initialize = @seen = 0
  def written(_event) = @seen += 1
end

ACCOUNTS = Array.new(11_000) do |i|
  Account.new("account #{i}", Array.new(20) { |k| "line #{k} of account #{i}: #{"bought on the exchange in parts, " * 12}#{i * k % 7_919}" })
end
BUS = Bus.new
BUS.subscribe("orders", Audit.new.method(:written))

# About 300 orders are open at a time. Each has four fills and a change of its price.
open_orders = []
Load.run(220) do |n|
  open_orders << Order.new(n, ACCOUNTS[n * 7_919 % ACCOUNTS.size]).tap { |order| order.open(BUS) } # LEAK
  order = open_orders[n * 31 % open_orders.size]
  4.times { |i| BUS.publish("orders.#{order.number}.filled", { price: (n * 13 % 9_000) + i, quantity: i + 1, venue: "venue #{i}" }) } # LEAK
  BUS.publish("orders.#{order.number}.priced", { price: n * 17 % 9_000 }) # LEAK
  next if open_orders.size <= 300

  done = open_orders.shift
  BUS.publish("orders.#{done.number}.filled", { price: n * 13 % 9_000, quantity: 1, venue: "venue 9" }) # LEAK
  done.close(BUS)
end
