# Events are handed to a pool of two threads of concurrent-ruby, whose queue has no bound. The consumers are slower than
# what comes: the queue grows on and on.
#
# kind: leak
# tuned: yes
# line: concurrent/
# keeper: ruby_thread_pool_executor.rb, @queue
# gems: concurrent-ruby 1.3.4
require_relative "../load"
require "concurrent"

POOL = Concurrent::FixedThreadPool.new(2)

def event(number)
  { id: number, name: "clicked", at: Time.now.to_f, properties: Array.new(10) { |i| "property #{i} of #{number}" } } # LEAK
end

def publish(event)
  POOL.post { sleep 0.02; event[:properties].size } # LEAK KEEPER
end

Load.run(250) { |n| publish(event(n)) }
POOL.kill
