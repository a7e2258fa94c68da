# Serves rails/ with Puma under the Ruby that is measured, asks it over loopback, and prints the figures as JSON.
# Every worker answers the same number of requests: first to warm up, then while its processor time is counted.
# Usage: ruby puma.rb REQUESTS RUBY [OPTION…]     requests of each worker that are counted; half as many warm up
require "etc"
require "json"
require "net/http"
require "socket"

WORKERS = 4
CLIENTS = 4
TURN = 25 # requests of one connection, which one worker answers

class Server
  def initialize(command)
    @port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    environment = { "PORT" => @port.to_s, "BENCH_WORKERS" => WORKERS.to_s, "RAILS_ENV" => "production" }
    @pid = spawn(environment, *command, "-e", 'load Gem.bin_path("puma", "puma")', "--", "-C", "puma.rb", "config.ru",
                 chdir: File.join(__dir__, "rails"), out: :err)
    wait_until_it_answers
  end

  def pids = File.read("/proc/#{@pid}/task/#{@pid}/children").split.map(&:to_i)

  def connect(&block) = Net::HTTP.start("127.0.0.1", @port, read_timeout: 60, &block)

  def stop
    Process.kill(:TERM, @pid)
    300.times do
      return if Process.wait(@pid, Process::WNOHANG)
      sleep 0.1
    end
    stopped = pids << @pid # Puma hangs in some of its stops
    stopped.each { |pid| Process.kill(:KILL, pid) }
    Process.wait(@pid)
  end

  private

  def wait_until_it_answers
    600.times do
      abort "puma ended before it answered" if Process.wait(@pid, Process::WNOHANG)
      return if pids.size == WORKERS && answers?
      sleep 0.1
    end
    abort "puma does not answer"
  end

  def answers?
    connect { |http| http.get("/posts/1").code == "200" }
  rescue SystemCallError, EOFError
    false
  end
end

PAGES = ["/posts", *(1..60).map { |id| "/posts/#{id}" }].freeze

def checked(response, path)
  abort "#{path}: #{response.code}\n#{response.body[0, 500]}" unless response.code == "200"
  expected = path == "/posts" ? "comment 7 of post 29" : %("body":"comment 7 of post #{path[/\d+/].to_i - 1}")
  abort "#{path} is not what it should be" unless response.body.include?(expected)
  response
end

# Asks until each worker has answered `quota` times. Which worker takes a connection is its own affair: one that has had
# its share is left after its first answer.
def ask(server, quota)
  left = Hash.new { |hash, worker| hash[worker] = quota }
  lock = Mutex.new
  done = -> { lock.synchronize { left.size == WORKERS && left.values.all? { |n| n <= 0 } } }
  Array.new(CLIENTS) do |client|
    Thread.new do
      random = Random.new(client)
      until done.call
        server.connect do |http|
          TURN.times do
            path = random.rand(3).zero? ? "/posts" : PAGES[random.rand(1..60)]
            worker = checked(http.get(path), path)["x-worker"]
            break if lock.synchronize { left[worker] -= 1 } <= 0
          end
        end
      end
    end
  end.each(&:join)
  left.sum { |_, n| quota - n }
end

TICKS = Etc.sysconf(Etc::SC_CLK_TCK).to_f
def cpu(pid) = File.read("/proc/#{pid}/stat").split(") ").last.split.values_at(11, 12).sum(&:to_i) / TICKS
def pss(pid) = File.read("/proc/#{pid}/smaps_rollup")[/^Pss:\s+(\d+)/, 1].to_i * 1024

def figures(server)
  found = {}
  until found.size == WORKERS
    server.connect { |http| http.get("/figures").then { |response| found[response["x-worker"]] ||= JSON.parse(response.body) } }
  end
  found.values
end

requests = Integer(ARGV.shift)
server = Server.new(ARGV)
begin
  booted = figures(server).map { |worker| worker["own"] }.max
  ask(server, requests / 2)
  before = server.pids.sum { |pid| cpu(pid) }
  answered = ask(server, requests)
  seconds = server.pids.sum { |pid| cpu(pid) } - before
  memory = server.pids.sum { |pid| pss(pid) }
  workers = figures(server)
  puts JSON.generate(
    cpu: seconds * 1000 / answered, memory:, answered:, own_booted: booted,
    **%w[gc minor major pages].to_h { |name| [name.to_sym, workers.sum { |worker| worker[name] }] },
    own: workers.map { |worker| worker["own"] }.max,
  )
ensure
  server.stop
end
