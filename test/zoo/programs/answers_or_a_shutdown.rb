# A gateway waits for the answer of its upstream or for the shutdown, whichever comes first (Concurrent::Promises.any). The event of the
# shutdown has a callback for each request that was ever made, which leads to its answer.
#
# kind: leak
# line: concurrent/
# keeper: concurrent/, SHUTDOWN, @Callbacks, Concurrent::Promises
# gems: concurrent-ruby 1.3.8
# rate: 1900000
require_relative "../load"
require "concurrent"
require "json"

SHUTDOWN = Concurrent::Promises.resolvable_event
ACCOUNTS = Array.new(30_000) { |i| { id: i, name: "account #{i}", notes: "since #{1990 + (i % 30)}, region #{i % 16} ".ljust(2_800, "."), limits: [i, i * 2, i * 3] } }

class Upstream
  def initialize
    @requests = Thread::Queue.new
    @thread = Thread.new { serve(*@requests.pop) while true } # LEAK
  end

  def ask(number) = Concurrent::Promises.resolvable_future.tap { |answer| @requests << [number, answer] } # LEAK

  private

  def serve(number, answer)
    account = ACCOUNTS[number % ACCOUNTS.size]
    items = Array.new(30) { |i| { position: i, text: "#{account[:name]} bought article #{number + i}", price: i * 1.5 } }
    answer.fulfill(JSON.parse(JSON.generate(account: account[:id], items: items))) # LEAK
  end
end

UPSTREAM = Upstream.new

def handle(number)
  asked = UPSTREAM.ask(number) # LEAK
  first = Concurrent::Promises.any(asked, SHUTDOWN) # LEAK KEEPER
  answer = first.value!
  return unless answer

  pages = %w[html text mail print archive].map { |kind| answer["items"].map { |item| "#{kind} #{item["position"]}: #{item["text"].gsub(/article (\d+)/, "<b>\\1</b>")} for #{item["price"]}" } }
  JSON.generate(pages: pages, total: answer["items"].sum { |item| item["price"] })
end

Load.run(220) { |n| handle(n) } # LEAK
