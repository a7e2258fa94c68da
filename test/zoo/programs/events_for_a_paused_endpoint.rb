# Large: a service for webhooks loads the accounts and orders of its shops at the start. Each of its 40 endpoints has a queue and a thread
# that sends. Support has paused one endpoint: its thread has ended, and its queue still takes every event for it.
#
# kind: leak
# keeper: @events, Endpoint, ENDPOINTS
# starts: 9
# rate: 1850000
require_relative "../load"
require "json"
require "digest"

Order = Struct.new(:id, :customer, :lines, :address, :invoice)

class Endpoint
  def initialize(number, paused)
    @url = "https://shop#{number}.example/hooks"
    @events = Thread::Queue.new
    @sent = 0
    @thread = Thread.new { deliver(@events.pop) while true } unless paused
  end

  def push(event) = @events << event # KEEPER

  private

  def deliver(event)
    body = JSON.generate(event)
    @sent += 1 if Digest::SHA256.hexdigest("#{@url}#{body}").start_with?("0")
  end
end

ORDERS = Array.new(170_000) do |i|
  Order.new(i, { name: "customer #{i}", mail: "customer#{i}@mail.example", vip: i % 50 == 0 }, Array.new(6) { |l| "#{1 + (l % 3)} pieces of article #{(i * 3) + l}" },
            ["street #{i % 3_000}", "town #{i % 500}", "country #{i % 30}"], "<invoice number='#{i}'>".ljust(3_600, "<line price='9.90'/>"))
end
ENDPOINTS = Array.new(40) { |i| Endpoint.new(i, i == 17) }

def event(number)
  order = ORDERS[number * 7 % ORDERS.size]
  lines = order.lines.map { |line| { text: "#{line} for #{number}", state: "packed at #{number}" } } # LEAK
  { id: number, type: "order.changed", customer: order.customer[:name], lines: lines, invoice: order.invoice.sub("9.90", number.to_s) } # LEAK
end

def page(order)
  lines = order.invoice.scan(/price='([\d.]+)'/).map { |price,| "<td>#{price} EUR</td>" }
  "<h1>#{order.customer[:name]}</h1><p>#{order.address.join(", ")}</p><table>#{lines.join("\n")}</table>"
end

Load.run(800) do |n|
  endpoint = ENDPOINTS[n % 3 == 0 ? 17 : n % 40]
  endpoint.push(event(n)) # LEAK
  page(ORDERS[n * 11 % ORDERS.size])
end
