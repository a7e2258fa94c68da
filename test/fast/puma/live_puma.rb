# frozen_string_literal: true

# A Puma cluster of which one can hold the GVL, as a C extension may.

require "fiddle"
if ENV["DATADOG"]
  require "datadog"
  Datadog.configure do |c|
    c.profiling.enabled = true
    c.profiling.allocation_enabled = true
    c.profiling.advanced.experimental_heap_enabled = true
    c.tracing.enabled = false
    c.agent.port = 1            # no process listens there
    c.logger.level = Logger::FATAL
  end
end

# C code that holds the GVL, whatever signals come (Datadog's profiler sends some): it waits for a mutex that is locked.
module Hold
  MUTEX = ("\0" * 64).b
  LOCK, WAIT = [["pthread_mutex_lock", 1], ["pthread_mutex_timedlock", 2]].map do |name, count|
    Fiddle::Function.new(Fiddle::Handle::DEFAULT[name], [Fiddle::TYPE_VOIDP] * count, Fiddle::TYPE_INT, need_gvl: true)
  end

  def self.gvl(seconds)
    LOCK.call(MUTEX)
    WAIT.call(MUTEX, [Time.now.to_i + seconds, 0].pack("qq"))
  end
end

class ::Basket
  KEPT = []
  def self.fill(count) = count.times { KEPT << new }
end

workers 2
threads 2, 2
preload_app!
quiet
bind "tcp://127.0.0.1:#{ENV.fetch("PORT")}"
app do |env|
  case env["PATH_INFO"]
  when "/fill" then Basket.fill(20_000)
  when "/hold"
    File.write(ENV.fetch("HELD"), "#{Process.pid}\n")
    Hold.gvl(10)
  end
  [200, {}, [Process.pid.to_s]]
end
