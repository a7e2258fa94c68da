# A bank's gateway joins orders with their payments, which come from two streams. One thread does this: it holds what
# has come first in two Hashes, its local variables, until the other half comes. Once in two seconds it drops the orders
# without a payment for five seconds. A payment that comes later finds no order, and waits for one: the thread never
# drops a payment.
#
# kind: leak
# keeper: payments, @thread, JOINER, Joiner
# starts: 8
# rate: 1100000
require_relative "../load"

Order = Struct.new(:number, :lines, :at)
Payment = Struct.new(:order, :cents, :statement, :at)

class Joiner
  PATIENCE = 5

  def initialize(&joined)
    @inbox = Thread::Queue.new
    @joined = joined
    @thread = Thread.new { join_both }
  end

  def <<(message) = @inbox << message

  def finish
    @inbox.close
    @thread.join
  end

  private

  def join_both
    orders = {}
    payments = {}
    swept = Load.seconds
    while (message = @inbox.pop)
      if message.is_a?(Order)
        payment = payments.delete(message.number)
        payment ? @joined.call(message, payment) : orders[message.number] = message
      else
        order = orders.delete(message.order)
        order ? @joined.call(order, message) : payments[message.order] = message # LEAK KEEPER
      end
      next if Load.seconds - swept < 2

      swept = Load.seconds
      orders.delete_if { |_, order| order.at < swept - PATIENCE }
    end
  end
end

# What the service knows about its customers: read once, at the start.
CUSTOMERS = Array.new(80_000) do |i|
  { name: "customer #{i}", account: "DE#{i * 7_919_777 % 1_000_000_007}", notes: "has paid #{i % 90} orders by transfer and #{i % 13} by card; " * 15 }
end

TOTALS = Hash.new(0)
JOINER = Joiner.new { |order, payment| TOTALS[order.number[/..\z/]] += payment.cents - order.lines.size }

def order(number)
  Order.new("order-#{number}", Array.new(8) { |i| "#{i + 1} of article #{number * (i + 3) % 40_000}" }, Load.seconds)
end

def payment(number)
  customer = CUSTOMERS[number * 31 % CUSTOMERS.size]
  fields = { from: customer[:account], text: "transfer of #{customer[:name]} for order-#{number}", reference: "E2E#{number * 7_919}" } # LEAK
  statement = fields.map { |name, value| ":#{name.upcase}: #{value} #{"/ROC/#{number * 31 % 99_991}" * 60}" } # LEAK
  Payment.new("order-#{number}", number % 9_000, statement, Load.seconds) # LEAK
end

# Of seven orders one is paid too late: a booking run sends its payment after the order was dropped.
late = []
Load.run(3_600) do |n|
  JOINER << order(n)
  n % 7 == 0 ? late << [n, Load.seconds + 8] : JOINER << payment(n)
  JOINER << payment(late.shift.first) if late.any? && late.first.last < Load.seconds # LEAK
end
JOINER.finish
