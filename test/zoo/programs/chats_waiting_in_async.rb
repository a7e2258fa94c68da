# A server on async: each client has a task that waits for messages from the client's own queue. A client that goes away says
# nothing, and its task, a fiber, waits for ever; half of the clients go in this way.
#
# kind: threads
# also: leak, native
# line: async/, io/event
# keeper: async/, Async::
# gems: async 2.46.0
# rate: 30000
require_relative "../load"
require "async"
require "async/queue"

class Room
  def initialize = @clients = {}

  def enter(id)
    queue = @clients[id] = Async::Queue.new # LEAK KEEPER
    Async { greet(id, queue) } # LEAK
  end

  def leave(id) = @clients[id].enqueue(nil)

  private

  def greet(id, queue)
    history = Array.new(20) { |i| "message #{i} for client #{id}" } # LEAK
    history << queue.dequeue # LEAK
    @clients.delete(id)
  end
end

Async do |reactor|
  room = Room.new
  Load.run(15) do |n|
    room.enter(n) # LEAK
    room.leave(n) if n.even?
    reactor.yield
  end
  exit!(0)
end
