# frozen_string_literal: true

# A ticket shop that leaks. Every request reads a catalogue, prices seats and renders a page: all of
# it garbage a moment later. One line in Ticket::Cache keeps the order of every request for ever.

Seat = Struct.new(:row, :number, :price)
Order = Struct.new(:id, :customer, :seats)

class Ticket
  class Cache
    @orders = {}

    class << self
      # The leak: nothing ever leaves @orders.
      def store(id, customer, seats)
        @orders[id] = Order.new(id, customer.dup, seats.map { |seat| Seat.new(*seat) })
      end

      def size = @orders.size
    end
  end
end

class Shop
  ROWS = ("A".."T").to_a

  def initialize(random)
    @random = random
  end

  def request(id)
    page = render(catalogue)
    Ticket::Cache.store(id, "customer-#{id}", best_seats)
    page.bytesize
  end

  private

  def catalogue
    ROWS.flat_map do |row|
      Array.new(10) { |number| {row: row, number: number, price: format("%.2f", 20 + @random.rand * 60)} }
    end
  end

  def best_seats
    Array.new(20) { |number| [ROWS.sample(random: @random), number, 42] }
  end

  def render(seats)
    seats.map { |seat| "<li>#{seat[:row]}#{seat[:number]}: #{seat[:price]} EUR</li>" }.join("\n")
  end
end

# Requests a second, as a steady load has.
RATE = 1_000

requests = Integer(ARGV.fetch(0, 20_000))
shop = Shop.new(Random.new(1))
started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
bytes = (1..requests).sum do |id|
  sleep([started + id.fdiv(RATE) - Process.clock_gettime(Process::CLOCK_MONOTONIC), 0].max) if (id % 10).zero?
  shop.request(id)
end
puts "#{requests} requests, #{bytes / (1 << 20)} MiB of pages, #{Ticket::Cache.size} orders in the cache"
