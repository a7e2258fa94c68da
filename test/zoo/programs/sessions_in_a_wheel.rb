# Healthy: sessions of a shop are in a wheel of twelve places, one for each second. A session moves on when it is used, and those in the place
# that comes up after nine seconds without a request are dropped.
#
# kind: steady
# also: bloat
# settles: 15
require_relative "../load"

class Session
  attr_accessor :place
  attr_reader :id, :cart

  def initialize(id)
    @id = id
    @cart = Array.new(25) { |i| { article: "article #{(id * 7) + i}", pieces: i % 4, price: i * 2.5 } }
    @page = "<html>page of #{id}".ljust(14_000, "<div class='row'></div>")
  end

  def total = @cart.sum { |item| item[:pieces] * item[:price] }
end

class Wheel
  SIZE = 12
  LIFETIME = 9

  def initialize
    @places = Array.new(SIZE) { {} }
    @sessions = {}
    @second = 0
  end

  def use(id)
    turn(Load.seconds.to_i)
    session = @sessions[id] ||= Session.new(id)
    @places[session.place].delete(id) if session.place
    session.place = (@second + LIFETIME) % SIZE
    @places[session.place][id] = session
  end

  private

  def turn(second)
    while @second < second
      @second += 1
      place = @places[@second % SIZE]
      place.each_key { |id| @sessions.delete(id) }
      place.clear
    end
  end
end

WHEEL = Wheel.new
Load.run(1_200) do |n|
  id = n % 2 == 0 ? n : n - 1 - (n * 7_919 % 1_500 * 2) # a new visitor, or one of the last seconds
  session = WHEEL.use(id)
  session.cart.map { |item| "<li>#{item[:article]}: #{item[:pieces]} for #{session.total}</li>" }.join
end
