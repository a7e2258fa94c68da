# A preloaded parent and four forked workers, as an application server has them; prints the sum of the
# workers' PSS and then the parent's, in KiB. Usage: ruby workers.rb SETTINGS
require "rdoc"
require "net/http"
require "json"
require "optparse"
require "erb"

# What an application holds once it has booted.
SETTINGS = Array.new(Integer(ARGV[0])) { |i| { id: i, name: "setting #{i}" } }
Process.warmup

WORKERS = 4

# Some requests' worth of garbage, some that stays, and the collections that come with it.
def work(rounds)
  cache = []
  rounds.times do |i|
    body = ERB.new("<% 20.times do |n| %><li><%= n * #{i} %></li><% end %>").result(binding)
    JSON.parse(JSON.generate({ body:, list: Array.new(50) { |n| { n:, text: "text #{n}" } } }))
    cache << body if (i % 10).zero?
  end
  3.times { GC.start }
  cache
end

def pss(pid) = File.read("/proc/#{pid}/smaps_rollup")[/^Pss:\s+(\d+)/, 1].to_i

workers = Array.new(WORKERS) do
  ready, tell = IO.pipe
  pid = fork do
    ready.close
    KEPT = work(1500)
    tell.puts "ready"
    tell.close
    sleep
  end
  tell.close
  [pid, ready]
end
workers.each { |_, ready| ready.gets }
print workers.sum { |pid, _| pss(pid) }, " ", pss(Process.pid)
$stdout.flush
workers.each { |pid, _| Process.kill(:KILL, pid) }
Process.waitall
exit!(0)
