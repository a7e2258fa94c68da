# A collector of metrics has a StringScanner for each of 240 agents. What arrives is appended to the scanner, which reads the complete
# lines from it. What it has read stays in front of its position: the text of the scanner is never cut.
#
# kind: leak
# keeper: @scanner, AGENTS, StringScanner
# rate: 1700000
require_relative "../load"
require "strscan"

class Agent
  attr_reader :sums

  def initialize(number)
    @number = number
    @scanner = StringScanner.new(+"")
    @sums = Hash.new(0)
  end

  def receive(data)
    @scanner << data # LEAK KEEPER
    while (line = @scanner.scan(/[^\n]*\n/))
      name, value, _tags = line.chomp.split("|", 3)
      @sums[name] += value.to_i
    end
  end
end

AGENTS = Array.new(240) { |i| Agent.new(i) }

def packet(number) = Array.new(16) { |i| "disk_#{i}.reads|#{number * i % 9_000}|host=web-#{number % 240},zone=#{number % 3},volume=data-#{i % 4},rev=#{number}\n" }.join

Load.run(1_300) do |n|
  text = packet(n)
  cut = text.size * 3 / 4
  agent = AGENTS[n % 240]
  agent.receive(text[0, cut]) # LEAK
  agent.receive(text[cut..]) # LEAK
  AGENTS[(n * 7) % 240].sums.sort_by { |name, sum| [-sum, name] }.map { |name, sum| "#{name.tr(".", "_")} #{sum.fdiv(60).round(1)}" }.join("\n") if n.even?
end
