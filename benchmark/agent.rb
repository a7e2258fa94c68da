# What the agent costs next to the Rails application of examples/rails with 16 Puma workers: CPU time and memory.
require "socket"
require_relative "support"

WORKERS = 16
BUNDLE = File.join(File.dirname(Bench::RUBY), "bundle")
minutes = Integer(ARGV[0] || 14)
rails, out = File.join(Bench::TOP, "examples/rails"), File.join(Bench::TOP, "build/examples/rails")
File.exist?("#{out}/tickets.sqlite3") or abort "no application in build/examples/rails: run examples/rails/run"
FileUtils.rm_rf(folder = "#{Bench::OUT}/agent")
FileUtils.mkdir_p(["#{folder}/run", "#{folder}/keep"], mode: 0o700)
free = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
environment = {
  **Bench::ENVIRONMENT, "GEM_HOME" => nil, "GEM_PATH" => nil, "XDG_RUNTIME_DIR" => "#{folder}/run", "BUNDLE_GEMFILE" => "#{out}/Gemfile", "BUNDLE_PATH" => "#{out}/bundle",
  "BUNDLE_APP_CONFIG" => "#{out}/bundle/config", "RAILS_ENV" => "production", "SHOP_TMP" => "#{out}/tmp", "SHOP_DATABASE" => "#{out}/tickets.sqlite3",
  "PORT" => free.to_s, "WEB_CONCURRENCY" => WORKERS.to_s,
}
start = lambda do |name, *command, **variables|
  pid = spawn({**environment, **variables.transform_keys(&:to_s)}, Bench::RUBY, *command, chdir: rails, %i[out err] => "#{folder}/#{name}.log")
  at_exit { Process.kill(:TERM, pid) rescue nil }
  pid
end

# A receiver that takes everything. The other one is down.
received = 0
receiver = TCPServer.new("127.0.0.1", 0)
Thread.new do
  loop do
    Thread.new(receiver.accept) do |socket|
      length = 0
      while (line = socket.gets("\r\n")&.chomp) && !line.empty?
        length = line[/\d+/].to_i if line.match?(/\Acontent-length:/i)
      end
      received += 1 if socket.read(length)
      socket.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
      socket.close
    end
  end
end

Bench.title "The agent beside #{WORKERS} Rails workers",
  "examples/rails in Puma's cluster mode with YJIT, sampled with malloc; heapsample agent with --keep and two receivers,",
  "one of them down, and one arena of malloc as in deploy/; 5 requests a second; #{minutes} minutes from the start of the agent."
start.call("puma", BUNDLE, "exec", "puma", "-w", WORKERS.to_s, "-C", "config/puma.rb", RUBYOPT: "--yjit", RUBY_HEAP_SAMPLE: "output=none")
request = -> { TCPSocket.open("127.0.0.1", free) { |socket| socket.write("GET /tickets/7 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n") && socket.read[9, 3] } rescue nil }
sleep 1 until request.call == "200"
# As a service runs it: without Bundler, and with the gem puma alone.
agent = start.call("agent", File.join(Bench::TOP, "src/libexec/heapsample"), "agent", "--http", "unix:#{folder}/agent.sock", "--keep", "#{folder}/keep",
                   "--to", "pyroscope+http://127.0.0.1:#{receiver.addr[1]}", "--to", "pyroscope+http://127.0.0.1:1", MALLOC_CONF: "narenas:1", GEM_PATH: Dir["#{out}/bundle/ruby/*"].first)
field = ->(name) { File.read("/proc/#{agent}/status")[/^#{name}:\s+(\d+)/, 1].to_i / 1024 }
rows = Array.new(minutes) do |minute|
  ends = Bench.now + 60
  request.call && sleep(0.2) while Bench.now < ends
  Process.wait(agent, Process::WNOHANG) and abort "the agent has ended; see build/bench/agent/agent.log"
  ticks = File.read("/proc/#{agent}/stat")[/.*\)(.*)/m, 1].split.values_at(11, 12).sum(&:to_i)
  [minute + 1, format("%.2f%%", ticks.fdiv(Etc.sysconf(Etc::SC_CLK_TCK)) / (minute + 1) / 60 * 100), field["VmRSS"], field["VmHWM"], received]
end
Bench.table ["minute", "of a processor, so far", "RSS, MiB", "largest RSS, MiB", "profiles received"], rows
