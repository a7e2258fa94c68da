# frozen_string_literal: true

# A shop on three workers, as a preforking server has them.  All take orders; the second also answers a partner's
# pages, which ask for each order again, and there somebody remembers what has been asked for.

class Order
  attr_reader :number

  def initialize(number)
    @number = number
    @lines = Array.new(3) { |line| "article #{number * 3 + line}, in a box of #{line + 1}" }
  end

  def to_s = "#{number}: #{@lines.join("; ")}"
end

# The pages that a partner has asked for.
class PartnerPages
  SEEN = {}

  def self.show(order)
    SEEN[order.number] ||= order.to_s * 2
  end
end

# A worker keeps its last orders, and no more.
class Worker
  LAST = 2_000

  def initialize(index)
    @index = index
    @orders = []
  end

  def serve
    (0..).each do |number|
      order = Order.new(number)
      @orders << order
      @orders.shift if @orders.size > LAST
      PartnerPages.show(order) if @index == 1
      sleep 0.01 if (number % 40).zero?
    end
  end
end

workers = Array.new(3) do |index|
  fork do
    $0 = "shop: worker #{index}"
    Worker.new(index).serve
  end
end
$0 = "shop: 3 workers"
trap(:TERM) { Process.kill(:KILL, *workers) && exit }
puts "shop: #{Process.pid}"
$stdout.flush
Process.waitall
