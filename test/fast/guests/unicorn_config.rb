# frozen_string_literal: true

require_relative "guest"

Unicorn::HttpServer::START_CTX[0] = ENV.fetch("GUEST_UNICORN")
worker_processes 2
listen "127.0.0.1:#{ENV.fetch("GUEST_PORT")}"
pid "#{FOLDER}/unicorn.pid"
stderr_path "#{FOLDER}/unicorn.log"
stdout_path "#{FOLDER}/unicorn.log"
preload_app true

# case_unicorn.rb finds the workers of a master by the names of these files.
after_fork { |_server, worker| File.write("#{FOLDER}/worker-#{Process.ppid}-#{worker.nr}", Process.pid.to_s) }
