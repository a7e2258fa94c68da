# Healthy: an exchange keeps the open orders of 40 papers by price. Orders are matched, and those that stay are cancelled by their owners in
# the order of their arrival, so that there are about 120,000 of them all the time.
#
# kind: steady
# also: bloat
# settles: 12
require_relative "../load"

Order = Struct.new(:number, :paper, :side, :price, :shares, :owner, :history)

class Book
  def initialize(paper)
    @paper = paper
    @levels = { buy: {}, sell: {} }
  end

  def add(order)
    order.history << "accepted in #{@paper} at #{order.price} as number #{order.number}"
    (@levels[order.side][order.price] ||= {})[order.number] = order
  end

  def remove(order)
    level = @levels[order.side][order.price] or return
    level.delete(order.number)
    @levels[order.side].delete(order.price) if level.empty?
  end

  # The best order of the other side, if the prices meet.
  def match(order)
    other = order.side == :buy ? :sell : :buy
    price = order.side == :buy ? @levels[other].keys.min : @levels[other].keys.max
    return unless price && (order.side == :buy ? price <= order.price : price >= order.price)

    @levels[other][price].each_value.first.tap { |found| remove(found) }
  end

  def depth = @levels.map { |side, levels| "#{side}: #{levels.sort.last(20).map { |price, orders| "#{price} x #{orders.sum { |_, order| order.shares }}" }.join(" ")}" }.join("\n")
end

class Exchange
  OPEN = 120_000
  attr_reader :matched

  def initialize
    @books = Array.new(40) { |paper| Book.new("paper #{paper}") }
    @arrived = Thread::Queue.new
    @matched = 0
    OPEN.times { |i| place(i) }
  end

  def book(paper) = @books[paper]

  def place(number)
    side = rand(2) == 0 ? :buy : :sell
    price = side == :buy ? 1_000 - rand(130) : 1_001 + rand(130)
    price += side == :buy ? 3 : -3 if number % 19 == 0
    order = Order.new(number, number % 40, side, price, 1 + rand(90), "customer #{rand(9_000)}", Array.new(6) { |i| "checked for limit #{i} by desk #{number % 30}: passed" })
    @matched += 1 if number % 19 == 0 && @books[order.paper].match(order)
    @books[order.paper].add(order)
    @arrived << order
    @arrived.pop.then { |oldest| @books[oldest.paper].remove(oldest) } if @arrived.size > OPEN
  end
end

EXCHANGE = Exchange.new
Load.run(4_000) do |n|
  EXCHANGE.place(Exchange::OPEN + n)
  EXCHANGE.book(n % 40).depth.size if n % 14 == 0
end
