# A gateway hands each answer to its statistics server once that is connected: the connection is a Deferrable of EventMachine, and each
# request adds a callback to it. The server has another name since the last move, so it is never connected.
#
# kind: leak
# line: em/deferrable
# keeper: @callbacks, STATISTICS, em/deferrable
# gems: eventmachine 1.2.7
# rate: 580000
require_relative "../load"
require "eventmachine"
require "json"

class Statistics
  include EventMachine::Deferrable

  attr_reader :sent

  def initialize = @sent = 0
  def connected = succeed(self)
  def send_answer(answer) = @sent += answer[:lines].size
end

STATISTICS = Statistics.new

class Gateway
  def answer(number)
    articles = JSON.parse(stock(number))
    lines = articles.group_by { |article| article["hall"] }.map { |hall, ones| "#{hall}: #{ones.sum { |one| one["left"] }} of #{ones.map { |one| one["name"] }.join(", ")}" } # LEAK
    tell(number: number, client: "client #{number % 700}", lines: lines) # LEAK
    JSON.generate(lines: lines, pages: Array.new(36) { |page| articles.rotate(page).first(20) })
  end

  private

  def tell(answer) = STATISTICS.callback { |statistics| statistics.send_answer(answer) } # LEAK KEEPER
  def stock(number) = JSON.generate(Array.new(90) { |i| { name: "article #{(number * 13) + i}", hall: "hall #{i % 9}", left: i * number % 400, notes: ["new", "old #{i}"] } })
end

GATEWAY = Gateway.new
REACTOR = Thread.new { EventMachine.run }
sleep 0.1 until EventMachine.reactor_running?
Load.run(170) { |n| EventMachine.next_tick { GATEWAY.answer(n) } } # LEAK
EventMachine.stop
REACTOR.join
