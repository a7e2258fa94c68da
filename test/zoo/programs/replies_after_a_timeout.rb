# Large: a shop has the articles of its suppliers in memory. It asks the price of a delivery by a message, and one
# thread reads the replies of all questions. A reply is put into a table under the number of its question, and the
# thread that asked takes it out. A question is given up after 0.15 seconds. Its reply comes later and is never taken.
#
# kind: leak
# starts: 6
# rate: 2000000
require_relative "../load"
require "json"

Article = Struct.new(:number, :title, :parts)

class Carrier
  def initialize = @due = Thread::Queue.new

  # One answer of three takes 0.4 seconds, the others 0.02.
  def send_question(number, weight)
    @due << [Load.seconds + (number % 3 == 1 ? 0.4 : 0.02), number, weight]
  end

  # The next messages that have arrived.
  def receive
    @waiting ||= []
    @waiting << @due.pop until @due.empty?
    arrived, @waiting = @waiting.partition { |at, _, _| at < Load.seconds }
    arrived.map { |_, number, weight| message(number, weight) } # LEAK
  end

  private

  # Prices of 30 zones, about 50 KB.
  def message(number, weight)
    zones = Array.new(30) { |i| { zone: "zone #{i}", cents: (weight * (i + 3)) + (number % 90), rules: "no glass, no batteries, to the door of the house only; " * 30 } } # LEAK
    JSON.generate({ number: number, zones: zones }) # LEAK
  end
end

class Prices
  PATIENCE = 0.15

  attr_reader :failures

  def initialize(carrier)
    @carrier = carrier
    @replies = {}
    @lock = Mutex.new
    @arrived = ConditionVariable.new
    @failures = 0
    @reader = Thread.new { loop { read } } # LEAK
  end

  def ask(number, weight)
    @carrier.send_question(number, weight)
    deadline = Load.seconds + PATIENCE
    @lock.synchronize do
      @arrived.wait(@lock, 0.05) until @replies.key?(number) || Load.seconds > deadline
      @failures += 1 unless @replies.key?(number)
      @replies.delete(number)
    end
  end

  private

  def read
    replies = @carrier.receive.map { |text| JSON.parse(text, symbolize_names: true) } # LEAK
    @lock.synchronize do
      replies.each { |reply| @replies[reply[:number]] = reply[:zones] } # LEAK KEEPER
      @arrived.broadcast if replies.any?
    end
    sleep 0.02
  end
end

ARTICLES = Array.new(80_000) do |i|
  parts = Array.new(12) { |k| "part #{k} of article #{i}: #{"a bolt of steel and the nut for it, " * 6}#{i * k % 977}" }
  Article.new(i, "article #{i} of supplier #{i % 700}", parts)
end
PRICES = Prices.new(Carrier.new)
questions = Thread::Queue.new
shown = Thread::Queue.new
16.times do
  Thread.new do
    while (number = questions.pop)
      zones = PRICES.ask(number, ARTICLES[number * 7_919 % ARTICLES.size].parts.size * 310)
      shown << zones[number % 30][:cents] if zones
      shown.clear if shown.size > 500
    end
  end
end

Load.run(100) { |n| questions << n }
