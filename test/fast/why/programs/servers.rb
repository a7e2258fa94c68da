# frozen_string_literal: true

# A process with what servers have: Puma, Sidekiq with a real Redis, Active Record's pool with its reaper, pools of
# concurrent-ruby and connection_pool, Timeout.  All have worked, and are at rest.  In addition some threads wait for a queue
# that no thread serves.
# Usage: ruby --heap-sample=… servers.rb FILE REDIS_URL     writes the profile, with a walk; prints how many threads there are
require "active_record"
require "concurrent"
require "connection_pool"
require "net/http"
require "puma"
require "puma/server"
require "sidekiq"
require "sidekiq/embedded"
require "timeout"

file, redis = ARGV
DONE = Queue.new

# -- Puma

server = Puma::Server.new(->(_) { [200, {}, ["served"]] }, nil, { min_threads: 3, max_threads: 5, log_writer: Puma::LogWriter.null })
port = server.add_tcp_listener("127.0.0.1", 0).addr[1]
server.run
5.times { raise "not served" unless Net::HTTP.get("127.0.0.1", "/", port) == "served" }

# -- Sidekiq

class Job
  include Sidekiq::Job
  def perform(number) = DONE << number
end

sidekiq = Sidekiq.configure_embed do |config|
  config.redis = { url: redis }
  config.logger.level = Logger::FATAL
  config.concurrency = 3
end
sidekiq.run
5.times { |number| Job.perform_async(number) }
Timeout.timeout(60) { 5.times { DONE.pop } }

# -- pools

ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:", pool: 2, reaping_frequency: 30)
ActiveRecord::Base.connection_pool.with_connection { |connection| connection.select_value("SELECT 1") }

POOL = Concurrent::FixedThreadPool.new(3)
3.times { POOL.post { DONE << 1 } }
TIMER = Concurrent::TimerTask.execute(execution_interval: 600) { DONE << 1 }
Concurrent::Promises.future { DONE << 1 }.wait
3.times { DONE.pop }

CONNECTIONS = ConnectionPool.new(size: 1, timeout: 600) { Object.new }
waiting = Thread.new { CONNECTIONS.with { |_| } }
CONNECTIONS.with do
  # -- and the lost ones

  def lost(count)
    queue = Queue.new
    count.times { |number| Thread.new { kept = "what it holds #{number} " * 20_000; queue.pop; kept } } # LOST
    nil
  end
  lost(7)
  sleep 2
  GC.start
  GC.sample_profile(why: true).save(file)
  puts Thread.list.size
  waiting.kill
end
$stdout.flush
exit!(0) # the servers need not end well
