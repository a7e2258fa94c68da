# The six threads of a pool live as long as the server. Each request leaves its context in a thread variable named after the
# request, for a logger; it is cleared under another name.
#
# kind: leak
# keeper: Thread, thread variable, fiber-local
# gems: concurrent-ruby 1.3.4
# rate: 160000
require_relative "../load"
require "concurrent"

POOL = Concurrent::FixedThreadPool.new(6)

class Request
  def initialize(number) = @number = number

  def call
    context = { id: "request #{@number}", tags: Array.new(12) { |i| "tag #{i} of request #{@number}" } } # LEAK
    Thread.current.thread_variable_set(:"context_#{@number}", context) # LEAK KEEPER
    context[:tags].join(",").size
  ensure
    Thread.current.thread_variable_set(:context, nil)
  end
end

Load.run(90) { |n| POOL.post { Request.new(n).call } } # LEAK
