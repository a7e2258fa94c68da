# Events go to a thread that sends them. It dies of an error in its third second, and nobody looks: the four threads that
# serve requests go on and fill its queue.
#
# kind: leak
# tuned: yes
require_relative "../load"

class Tracker
  def initialize
    @events = Thread::Queue.new
    @sender = Thread.new { deliver(@events.pop) while true }
    @sender.report_on_exception = false
  end

  def track(name, number, **more)
    @events << { event: name, user: "user-#{number}", at: Load.seconds, properties: { path: "/orders/#{number}", **more } } # LEAK KEEPER
  end

  private

  def deliver(event)
    raise IOError, "the other side has closed" if Load.seconds > 3

    event.to_s.size
  end
end

TRACKER = Tracker.new
Array.new(4) do |index|
  Thread.new { Load.run(90) { |n| TRACKER.track("order seen", n * 4 + index, shop: index, agent: "browser #{n % 30}") } } # LEAK
end.each(&:join)
