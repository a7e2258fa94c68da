# A service asks a bank for the rates of exchange every half second, with a TimerTask of concurrent-ruby. Each table of prices that a customer
# opens observes the task, to be computed anew. A table that is closed calls delete_observer with a copy of itself, which removes nothing.
#
# kind: leak
# line: concurrent
# keeper: @observers, RATES, concurrent
# gems: concurrent-ruby 1.3.8
# rate: 1080000
require_relative "../load"
require "concurrent"
require "json"

RATES = Concurrent::TimerTask.new(execution_interval: 0.5) { Array.new(30) { |i| ["C#{i}", 1 + (Load.seconds * i % 7 / 10)] }.to_h }

class Table
  def initialize(customer, articles)
    @customer = customer
    @cells = articles.map { |article| [article[:name], article[:cents], "#{article[:name]} for customer #{customer}: #{article[:cents]} cents, #{article[:hint]}"] } # LEAK
    @open = true
  end

  def watch = RATES.add_observer(self, :rates_read) # LEAK KEEPER

  def rates_read(_time, rates, _error)
    @rates = rates if @open
  end

  def close
    @open = false
    RATES.delete_observer(dup)
  end

  def html = @cells.map { |name, cents, text| "<tr><td>#{name}</td><td>#{(cents * (@rates&.fetch("C7") || 1)).round}</td><td>#{text.capitalize}</td></tr>" }.join("\n")
end

def articles(number) = Array.new(50) { |i| { name: "article #{(number + i) % 5_000}", cents: number * i % 9_000, hint: "from hall #{i % 9}, kept cool and dry" } }

RATES.execute
Load.run(85) do |n|
  table = Table.new(n, articles(n)) # LEAK
  table.watch # LEAK
  24.times { |page| JSON.parse(JSON.generate(page: page, html: table.html)) }
  table.close
end
RATES.shutdown
