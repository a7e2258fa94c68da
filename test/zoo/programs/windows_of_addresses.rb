# Healthy: a limiter counts the requests of each address in two windows, the present one and the last one. Every seven
# seconds the last window is dropped and a new one begins. Most addresses are new, so that a window grows as long as
# it is the present one.
#
# kind: steady
# also: bloat
# settles: 15
require_relative "../load"

class Limiter
  WINDOW = 7
  Count = Struct.new(:requests, :since, :paths)

  def initialize
    @begun = Load.seconds
    @last = {}
    @present = {}
  end

  def allowed?(address, path)
    rotate if Load.seconds - @begun >= WINDOW
    count = @present[address] ||= Count.new(0, Load.seconds, [])
    count.requests += 1
    count.paths << path
    count.requests + (@last[address]&.requests || 0) <= 30
  end

  def busiest(most) = @present.max_by(most) { |_, count| count.requests }.map { |address, count| "#{address}: #{count.paths.join(" ")}" }
  def size = @present.size + @last.size

  private

  def rotate
    @last = @present
    @present = {}
    @begun = Load.seconds
  end
end

LIMITER = Limiter.new

def address(number)
  bits = number * 2_654_435_761 % 4_294_967_296
  "#{bits >> 24}.#{(bits >> 16) & 255}.#{(bits >> 8) & 255}.#{bits & 255}"
end

Load.run(500) do |n|
  8.times do |i|
    visitor = i == 0 ? n % 400 : (n * 8) + i
    LIMITER.allowed?(address(visitor), "/articles/#{n * 7_919 % 90_000}/pictures?size=large&from=search&page=#{i}")
  end
  LIMITER.busiest(5) if n % 500 == 0
end
