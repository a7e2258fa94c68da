# A nightly tool imports batches of deliveries. Each batch traps HUP, so that it can stop between two rows, and its handler calls the one
# that was there before. Nobody puts the earlier handler back, so the handler of HUP leads to all batches.
#
# kind: leak
# keeper: trap, guard
# rate: 480000
require_relative "../load"
require "json"

class Batch
  def initialize(number, text)
    @number = number
    @rows = text.each_line(chomp: true).map { |line| line.split(";").last } # LEAK
    @stopped = false
  end

  def guard
    before = trap("HUP") do |signal| # LEAK KEEPER
      @stopped = true
      before.call(signal) if before.respond_to?(:call)
    end
  end

  def run
    @rows.each_with_index.sum do |row, i|
      return i if @stopped

      fields = row.scan(/(\w+)=(\S+)/).to_h
      JSON.parse(JSON.generate(fields.merge("batch" => @number, "label" => fields.values.join("-").tr("0-9", "A-J")))).size
    end
  end
end

def place(i) = "town=town-#{i * 31 % 700} street=street-#{i * 17 % 4_000}"
def text(number) = Array.new(200) { |i| "#{number};#{i};parcel=#{number * 200 + i} #{place(i)} weight=#{i % 31}.#{number % 10} by=driver-#{number % 45}" }.join("\n")

Load.run(14) do |n|
  batch = Batch.new(n, text(n)) # LEAK
  batch.guard # LEAK
  3.times { batch.run }
end
