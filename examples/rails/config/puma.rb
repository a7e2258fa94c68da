threads 4, 4
workers ENV.fetch("WORKERS", 0).to_i
preload_app! if ENV.fetch("WORKERS", 0).to_i > 0
bind "tcp://127.0.0.1:#{ENV.fetch("PORT", 9292)}"
environment "production"
