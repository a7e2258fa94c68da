# An auction streams its bids to viewers by a channel of EventMachine. When a viewer goes, the stream is closed, but it is unsubscribed
# with its own number and not with the one that the channel gave to it.
#
# kind: leak
# line: eventmachine, em/channel
# keeper: @subs, em/channel
# gems: eventmachine 1.2.7
# rate: 1150000
require_relative "../load"
require "eventmachine"
require "json"

BIDS = EventMachine::Channel.new

class Viewer
  def initialize(number)
    @number = -number
    @buffer = Array.new(60) { |i| "id: #{i}\ndata: bid of #{number * i % 10_000} by bidder #{number % 400}, lot #{i % 12}, currency EUR, hall #{i % 3}\n\n" } # LEAK
    @open = true
  end

  def join
    BIDS.subscribe do |bid| # LEAK KEEPER
      @buffer << bid if @open
    end
  end

  def leave
    @open = false
    BIDS.unsubscribe(@number)
  end

  def page = @buffer.map { |event| "<li>#{event[/data: (.*)/, 1]}</li>" }.join
end

REACTOR = Thread.new { EventMachine.run }
sleep 0.1 until EventMachine.reactor_running?
Load.run(110) do |n|
  EventMachine.next_tick do
    viewer = Viewer.new(n) # LEAK
    viewer.join # LEAK
    24.times { JSON.parse(JSON.generate(page: viewer.page, lots: Array.new(30) { |i| { lot: i, price: n * i } })) }
    viewer.leave
    BIDS << "bid #{n}" if n % 30 == 0
  end
end
EventMachine.stop
REACTOR.join
