# frozen_string_literal: true

# A Puma cluster; a request says which worker has answered.
workers 2
threads 1, 1
preload_app!
quiet
bind "tcp://127.0.0.1:#{ENV.fetch("PORT")}"
Object.const_set(:Kept, Class.new)
app do |_env|
  ($kept ||= []).concat(Array.new(20_000) { Kept.new })
  [200, {}, [Process.pid.to_s]]
end
