# A market recorder puts the ticks of each interval behind those before, as one more source of a replay: a sum of Enumerators, which is
# an Enumerator::Chain of the last chain and the new rows. The replay is started from the console, which nobody does any more.
#
# kind: leak
# keeper: @source, RECORDER, Enumerator::Chain
# rate: 330000
require_relative "../load"

class Recorder
  attr_reader :last

  def initialize = @source = [].each

  def close_interval(number, ticks)
    rows = ticks.each_slice(40).map do |part| # LEAK
      "interval #{number}: #{part.map { |tick| tick[:cents] }.minmax.join("-")} cents, #{part.sum { |tick| tick[:volume] }} shares".ljust(120) # LEAK
    end
    @source += rows.each # LEAK KEEPER
    @last = rows.last
  end

  def replay(&) = @source.each(&)
end

RECORDER = Recorder.new

def ticks(number) = Array.new(320) { |i| { paper: "paper #{(number + i) % 90}", cents: 10_000 + ((number * i) % 700), volume: 1 + ((number ^ i) % 50) } }

# The mean price of each paper over a few hundred ticks, for the page of the recorder.
def means(ticks) = ticks.group_by { |tick| tick[:paper] }.transform_values { |ones| ones.sum { |tick| tick[:cents] }.fdiv(ones.size).round(2) }

Load.run(190) do |n|
  now = ticks(n)
  RECORDER.close_interval(n, now) # LEAK
  means(now).map { |paper, mean| "#{paper}: #{mean}" }.join("\n")
  means(ticks(n + 7)).max_by(5, &:last)
  RECORDER.last.split(/\W+/).size
end
