# frozen_string_literal: true

# A Puma cluster that runs `heapsample agent`.

workers Integer(ENV.fetch("WORKERS"))
preload_app! false          # or there is no phased restart
threads 1, 2
bind "tcp://127.0.0.1:#{ENV.fetch("PORT")}"
pidfile ENV.fetch("PIDFILE")
plugin :heapsample
heapsample_agent "--http", "unix:#{ENV.fetch("AGENT_SOCKET")}"
app { |_env| [200, {}, [Process.pid.to_s]] }
