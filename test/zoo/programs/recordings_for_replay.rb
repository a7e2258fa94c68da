# Healthy, large: a service has 150,000 customers in memory. It records each request with its parsed form and its answer,
# to replay the traffic on a test system. The recorder writes a segment of five seconds after the other, and removes the
# oldest when there are more than five. The log of its segments is a ring of 400 lines.
#
# kind: steady
# also: bloat
# settles: 30
require_relative "../load"
require "json"
require "logger"
require "uri"

Customer = Struct.new(:number, :name, :street, :orders)
Exchange = Struct.new(:path, :form, :answer)

class Ring
  def initialize(limit)
    @limit = limit
    @lines = []
  end

  def write(line)
    @lines.shift if @lines.size >= @limit
    @lines << line
  end

  def close = @lines.clear
end

class Recorder
  Segment = Struct.new(:started, :exchanges)
  SECONDS = 5
  LIMIT = 5

  def initialize(log)
    @log = log
    @segments = []
  end

  def record(exchange)
    rotate if @segments.empty? || Load.seconds - @segments.last.started > SECONDS
    @segments.last.exchanges << exchange
    @log.info("#{exchange.path} is number #{@segments.last.exchanges.size} of its segment")
  end

  private

  def rotate
    @segments << Segment.new(Load.seconds, [])
    @segments.shift if @segments.size > LIMIT
  end
end

CUSTOMERS = Array.new(150_000) do |i|
  orders = Array.new(6) { |k| "order #{i * 6 + k}: #{"a box of nails and a hammer, " * 6}#{i * k % 97} pieces" }
  Customer.new(i, "customer #{i} of county #{i % 90}", "street #{i * 7_919 % 9_000}, house #{i % 240}", orders)
end
RECORDER = Recorder.new(Logger.new(Ring.new(400)))

def form(number)
  URI.encode_www_form(customer: number * 7_919 % CUSTOMERS.size, note: "please-call-before-you-come-#{"-at-any-time-" * 60}", day: number % 31)
end

def handle(number)
  fields = URI.decode_www_form(form(number)).to_h
  customer = CUSTOMERS[fields["customer"].to_i]
  answer = JSON.generate({ name: customer.name, street: customer.street, day: fields["day"], orders: customer.orders })
  RECORDER.record(Exchange.new("/visits/#{number}", fields, answer))
  answer.bytesize
end

Load.run(500) { |n| handle(n) }
