# Healthy: clients of a chat on async, a fiber for each. They come faster than they go until 250 are there, and then
# one goes when one comes. Each reads messages of its room from a limited queue.
#
# kind: steady
# also: bloat
# settles: 22
# gems: async 2.46.0
require_relative "../load"
require "async"
require "async/limited_queue"

class Client
  attr_reader :queue

  def initialize(id) = (@id, @queue, @last = id, Async::LimitedQueue.new(8), [])

  def run
    while (message = @queue.dequeue)
      @last << "#{message} for #{@id}"
      @last.shift if @last.size > 30
    end
  end
end

Async do |reactor|
  clients = []
  Load.run(60) do |n|
    if n % 5 == 0
      clients << Client.new(n).tap { |client| Async { client.run } }
      clients.shift.queue.enqueue(nil) if clients.size > 250
    end
    clients.sample(5).each { |client| client.queue.enqueue("message #{n}") if client.queue.size < 8 }
    reactor.yield
  end
  exit!(0)
end
