# A server asks back ends, each from a thread of its own. One call in 25 waits for an answer that never comes: its thread
# lives for ever.
#
# kind: threads
# tuned: yes
require_relative "../load"

class Upstream
  def initialize = @inbox = Queue.new

  def fetch(number)
    reply = Queue.new
    Thread.new { reply << "x" * 100; number % 25 == 0 ? @inbox.pop : nil } # LEAK
    reply.pop
  end
end

upstream = Upstream.new
Load.run(400) { |n| upstream.fetch(n) }
