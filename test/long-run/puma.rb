# Four preloaded workers. Each tells how much memory the sampler uses in it; without one, nothing.
require "json"

out = ENV.fetch("OUT")
threads 2, 2
workers 4
preload_app!
environment "production"
bind "tcp://127.0.0.1:#{ENV.fetch("PORT")}"
quiet

before_worker_boot do
  Thread.new do
    loop do
      path = File.join(out, "stat-#{Process.pid}.json")
      File.write("#{path}.new", JSON.generate(GC::SampleProfile.stat))
      File.rename("#{path}.new", path)
      sleep 5
    end
  end
end
