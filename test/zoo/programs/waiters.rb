# Requests wait for a reply in a thread of their own; one in ten replies is lost, and its thread waits on the
# condition for ever.
#
# kind: threads
# tuned: yes
# also: leak
require_relative "../load"
class Reply
  def initialize = (@lock, @ready, @value = Mutex.new, ConditionVariable.new, nil)
  def set(value) = @lock.synchronize { @value = value; @ready.signal }
  def get = @lock.synchronize { @ready.wait(@lock) until @value; @value }
end
Load.run(30) do |n|
  reply = Reply.new
  Thread.new { reply.get } # LEAK
  reply.set("reply #{n}") unless n % 10 == 0
end
