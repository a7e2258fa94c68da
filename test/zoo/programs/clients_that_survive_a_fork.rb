# A client of a queue has to open its connection anew in a forked process. It registers a block with Active Support's ForkTracker when it
# is made, and nothing unregisters the block when the client is closed; a web application makes a client for each request that sends.
#
# kind: leak
# line: active_support/fork_tracker.rb
# keeper: @callbacks, ForkTracker, fork_tracker
# gems: activesupport 8.0.2
# rate: 2000000
require_relative "../load"
require "active_support"
require "active_support/fork_tracker"
require "json"

class QueueClient
  def initialize(request)
    @request = request
    @buffer = String.new(capacity: 16_384) # LEAK
    @headers = Array.new(12) { |i| ["x-route-#{i}", "queue-#{request % 40}/#{i}"] }.to_h # LEAK
    ActiveSupport::ForkTracker.after_fork { reopen } # LEAK KEEPER
  end

  def push(job)
    @buffer << JSON.generate(job) << "\n"
    flush if @buffer.bytesize > 12_000
  end

  def flush
    frame = [@buffer.bytesize, @headers.size].pack("NN") + @buffer
    @buffer.clear
    frame.sum
  end

  alias close flush

  private

  def reopen = @buffer.clear
end

def job(number, i) = { kind: "index", id: (number * 100) + i, words: Array.new(12) { |k| "word#{(number * k) % 5_000}" }, after: number % 60 }

Load.run(110) do |n|
  client = QueueClient.new(n) # LEAK
  450.times { |i| client.push(job(n, i)) }
  client.close
end
