# A journal writes its entries one after the other in a thread of a pool. The order comes from a chain of promises: the
# next write is the "then" of the last one. A Concurrent::Promise refers to its parent, so the newest one leads to all
# writes since the start, with their entries and results.
#
# kind: leak
# line: concurrent/promise
# keeper: @last, @parent, JOURNAL, Journal, Concurrent::Promise, concurrent/promise
# gems: concurrent-ruby 1.3.4
# rate: 1700000
require_relative "../load"
require "concurrent"
require "json"

class Journal
  Written = Struct.new(:at, :text, :checksum)

  def initialize(file)
    @file = file
    @last = Concurrent::Promise.execute { written("start of the journal") }
  end

  def append(entry) = @last = @last.then { |before| written(JSON.generate(entry), before) } # LEAK KEEPER

  private

  # Each line has the checksum of the line before it.
  def written(text, before = nil)
    line = "#{before&.checksum} #{text}" # LEAK
    @file.write(line)
    Written.new(Load.seconds, line, text.sum.to_s(16)) # LEAK
  end
end

JOURNAL = Journal.new(File.open(File::NULL, "w"))

def order(number)
  lines = Array.new(18) { |i| { article: "article #{number * (i + 31) % 9_000}", pieces: 1 + (i % 4), price: "#{number * i % 900}.#{10 + i} EUR" } } # LEAK
  { number: number, customer: "customer #{number * 7_919 % 90_000}", lines: lines, note: "to be delivered in the morning, floor #{number % 9}" } # LEAK
end

Load.run(200) do |n|
  JOURNAL.append(order(n)) # LEAK
end
