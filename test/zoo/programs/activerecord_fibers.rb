# Active Record 7.2.0 with isolation_level = :fiber keeps each fiber that ever asked for the query cache as a key of
# ConnectionPool's @thread_query_caches, with a cache for each (rails/rails#52617). 7.2.1 does not.
#
# kind: leak
# tuned: yes
# also: threads
# line: abstract/query_cache.rb, abstract/connection_pool.rb
# keeper: abstract/query_cache.rb, abstract/connection_pool.rb, concurrent/collection/map, @thread_query_caches
# gems: concurrent-ruby 1.3.4, activerecord 7.2.0, sqlite3 2.10.2
# mended: activerecord 7.2.1
require_relative "../load"
require "logger"
require "active_record"
ActiveSupport::IsolatedExecutionState.isolation_level = :fiber
ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:", reaping_frequency: nil)
ActiveRecord::Base.lease_connection.execute("select 1")

def handle_request(number)
  Fiber.new do # LEAK
    ActiveRecord::Base.connection_pool.enable_query_cache! # LEAK
    ActiveRecord::Base.connection_handler.clear_active_connections!
    "page #{number}" * 20
  end.resume # LEAK
end

Load.run(300) do |n|
  handle_request(n)
  Array.new(300) { |i| "row #{i}" * 3 }
end
