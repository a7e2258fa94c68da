# A proxy on EventMachine gives each request an hour to finish, with a timer whose block refers to the request. The timer is not
# cancelled when the answer comes.
#
# kind: leak
# line: eventmachine
# keeper: @timers, EventMachine, eventmachine
# gems: eventmachine 1.2.7
# rate: 1600000
require_relative "../load"
require "eventmachine"

class ProxyRequest
  def initialize(number)
    @number = number
    @headers = Array.new(20) { |i| ["x-header-#{i}", "value #{i} of request #{number}"] }.to_h # LEAK
    @body = "field=#{number}&" * 500 # LEAK
  end

  def start = EventMachine.add_timer(3600) { time_out } # LEAK KEEPER
  def answer = @headers.map { |name, value| "#{name}: #{value}" }.join("\r\n") + @body[0, 200]
  def time_out = @failure = "timeout of #{@number}"
end

EventMachine.set_max_timers(200_000)
REACTOR = Thread.new { EventMachine.run }
sleep 0.1 until EventMachine.reactor_running?
Load.run(180) do |n|
  EventMachine.next_tick do
    request = ProxyRequest.new(n) # LEAK
    request.start # LEAK
    request.answer
  end
end
EventMachine.stop
REACTOR.join
