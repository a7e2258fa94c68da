# As Rails generates it for production: preloaded workers with three threads each.
workers Integer(ENV.fetch("BENCH_WORKERS"))
threads 3, 3
preload_app!
environment "production"
bind "tcp://127.0.0.1:#{ENV.fetch("PORT")}"
log_requests false
quiet
