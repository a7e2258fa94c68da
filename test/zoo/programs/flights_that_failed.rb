# A service asks its partners for offers. Requests that want the same offer at the same time share one flight, which
# is a future in a Concurrent::Map. A flight is removed when it has landed; one that has failed raises its error
# before that, and is never removed.
#
# kind: leak
# line: concurrent/
# keeper: @flights, FLIGHTS, Concurrent::Map, concurrent/collection/map
# gems: concurrent-ruby 1.3.4
# rate: 1150000
require_relative "../load"
require "concurrent"

class PartnerError < StandardError
  attr_reader :answer

  def initialize(message, answer)
    super(message)
    @answer = answer
  end
end

class Flights
  def initialize = @flights = Concurrent::Map.new

  def fetch(key)
    flight = @flights.compute_if_absent(key) { Concurrent::Promises.future { yield } } # LEAK KEEPER
    offer = flight.value!
    @flights.delete(key)
    offer
  end
end

# What a partner answers, as the rows of its document.
def answer(number) = Array.new(220) { |i| "offer #{number}/#{i}: #{i * number % 977} EUR, valid today, from partner #{number % 40} (#{"conditions apply " * 2})" } # LEAK

def ask(number)
  rows = answer(number) # LEAK
  raise PartnerError.new("partner #{number % 40} has no offer for #{number}", rows) if number % 4 == 0 # LEAK

  rows.max_by { |row| row[/: (\d+)/, 1].to_i }
end

FLIGHTS = Flights.new
FAILED = Hash.new(0)

Load.run(110) do |n|
  FLIGHTS.fetch("trip #{n} at #{n / 110} s") { ask(n) } # LEAK
rescue PartnerError => e
  FAILED[e.message[/partner \d+/]] += 1
end
