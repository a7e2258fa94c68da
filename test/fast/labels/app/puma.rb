# frozen_string_literal: true

threads 2, 2
workers ENV.fetch("WORKERS").to_i
preload_app! if ENV["WORKERS"] != "0"
bind "tcp://127.0.0.1:#{ENV.fetch("PORT")}"
plugin :heapsample
