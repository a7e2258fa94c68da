# Four preloaded workers. Each prints the sampler's state and where its own memory is, with a sampler and without; when there
# is a file `collect`, after it has collected its garbage.
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
      collected = File.exist?(File.join(out, "collect")) && GC.start.nil?
      path = File.join(out, "stat-#{Process.pid}.json")
      File.write("#{path}.new", JSON.generate(GC::SampleProfile.stat.merge(memory: GC::SampleProfile.memory, collected:)))
      File.rename("#{path}.new", path)
      sleep 5
    end
  end
end
