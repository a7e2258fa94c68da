# frozen_string_literal: true

# Three equal servers, one of them sampled, side by side; one client that asks them in turn, two seconds each. The third is
# the control: how much two servers without sampling differ. After each minute a line of a table; at the end what held.
# Prints TAP.
# Usage: ruby drive.rb MINUTES SETTINGS
require_relative "../../gems"
require_relative "../../server"
require_relative "../../testing"
require "json"

MINUTES = Integer(ARGV[0])
abort("at least 4 minutes") if MINUTES < 4
SETTINGS = ARGV[1]
OUT = install_gems(__dir__)
HERE = __dir__
PUMA = IO.popen([RbConfig.ruby, "-rbundler/setup", "-e", 'print Gem.bin_path("puma", "puma")'], &:read)
SLICE = 2               # seconds of load, and then it is the other's turn
CONNECTIONS = 2
WORKERS = 4

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
def mib(bytes) = bytes.fdiv(1 << 20)
def mean(list) = list.sum.fdiv(list.size)
def median(list) = list.sort[list.size / 2]

class LongRunTest < Test; end

# A Puma of its own, in a folder of its own.
class Server
  attr_reader :name, :latencies, :failures

  def initialize(name, settings)
    @name = name
    @out = File.join(OUT, name)
    FileUtils.rm_rf(@out)
    FileUtils.mkdir_p(@out)
    @port = free_port
    env = { "PORT" => @port.to_s, "OUT" => @out, "RUBY_HEAP_SAMPLE" => settings && "#{settings},output=#{@out}/heap-%p-%t.pb.gz" }
    log = File.join(@out, "puma.log")
    @pid = Process.spawn(env, RbConfig.ruby, "-rbundler/setup", PUMA, "-C", "#{HERE}/puma.rb", "#{HERE}/config.ru",
                         out: log, err: log)
    @latencies = []
    @failures = 0
    @id = 0
  end

  def log = File.read(File.join(@out, "puma.log"))

  def workers = File.read("/proc/#{@pid}/task/#{@pid}/children").split.map(&:to_i).sort
  def processes = [@pid, *workers]
  def stat_path(pid) = File.join(@out, "stat-#{pid}.json")
  def stat(pid) = JSON.parse(File.read(stat_path(pid)))

  # Each worker collects its garbage once, and prints its state after that.
  def collect
    FileUtils.touch(File.join(@out, "collect"))
    workers.each { |pid| sleep 0.2 until stat(pid)["collected"] }
  end

  def pss(pid) = Integer(File.read("/proc/#{pid}/smaps_rollup")[/^Pss:\s+(\d+)/, 1]) * 1024
  def profiles = Dir[File.join(@out, "heap-*")].sort

  # Load for so many seconds; adds to latencies.
  def serve(seconds)
    stop = now + seconds
    Array.new(CONNECTIONS) { Thread.new { ask_until(stop) } }.each { |thread| @latencies.concat(thread.value) }
  end

  def stop
    Process.kill(:TERM, @pid)
    Process.wait(@pid)
  rescue Errno::ESRCH, Errno::ECHILD
    nil
  end

  private

  # A worker closes a connection after so many requests, or hands it on: then there is a new one.
  def ask_until(stop)
    times = []
    socket = nil
    while now < stop
      socket ||= TCPSocket.new("127.0.0.1", @port)
      start = now
      closed = ask(socket)
      times << now - start
      socket = socket.close if closed
      sleep 0.002
    end
    socket&.close
    times
  end

  # Whether the server closes the connection.
  def ask(socket)
    socket.write("GET /?#{@id = (@id + 1) % 2000} HTTP/1.1\r\nHost: localhost\r\n\r\n")
    head = +""
    head << socket.readline until head.end_with?("\r\n\r\n")
    @failures += 1 unless head.start_with?("HTTP/1.1 200")
    body = socket.read(Integer(head[/^content-length: (\d+)/i, 1]))
    @failures += 1 unless body.start_with?("{")
    head.match?(/^connection: close/i)
  end
end

servers = [Server.new("on", SETTINGS), Server.new("off", nil), Server.new("off-again", nil)]
on = servers.first
at_exit { servers.each(&:stop) }
deadline = now + 60
servers.each do |server|
  sleep 0.2 until (server.workers.size == WORKERS && server.workers.all? { |pid| File.exist?(server.stat_path(pid)) }) || now > deadline
rescue Errno::ENOENT
  abort("#{server.name} did not start:\n#{server.log}")
end
first_workers = servers.map(&:workers)

# What each minute showed: of on, off and off again.
Minute = Struct.new(:p50, :p99, :pss, :own, :files) do
  def ratio(of) = self[of][0] / self[of][1]
  def control(of) = self[of][2] / self[of][1]
end

def percentile(list, share) = list.sort[(list.size * share).floor] * 1000

puts "#         latency, ms, and on to off, off again to off              PSS of a worker, MiB         own memory of each, KiB  profiles"
puts "# minute   p50                ratios        p99                 ratio    on     off    again  ratios"
minutes = Array.new(MINUTES) do |number|
  servers.each { |server| server.latencies.clear }
  stop = now + 60
  servers.rotate(number).cycle { |server| now < stop ? server.serve(SLICE) : break }
  minute = Minute.new(
    servers.map { |server| percentile(server.latencies, 0.50) }, servers.map { |server| percentile(server.latencies, 0.99) },
    servers.map { |server| mean(server.workers.map { |pid| server.pss(pid) }) },
    on.workers.map { |pid| on.stat(pid).fetch("bytes") }, on.profiles.size
  )
  puts format("# %6d   %5.2f %5.2f %5.2f  %.3f %.3f   %6.2f %6.2f %6.2f  %.3f   %6.2f %6.2f %6.2f  %.3f %.3f   %-22s %d", number + 1,
              *minute.p50, minute.ratio(:p50), minute.control(:p50), *minute.p99, minute.ratio(:p99),
              *minute.pss.map { |bytes| mib(bytes) }, minute.ratio(:pss), minute.control(:pss),
              minute.own.map { |bytes| bytes / 1024 }.join(" "), minute.files)
  minute
end

stats = on.workers.map { |pid| on.stat(pid) }
pids = on.processes
figures = %w[interval live_samples sites stacks frames malloc malloc_stacks bytes bytes_peak bytes_max]
puts "# at the end, of one worker: #{stats.first.slice(*figures).map { |pair| pair.join(" ") }.join(", ")}"
LongRunTest.measured("the same workers as at the beginning", servers.map(&:workers) == first_workers, pids.inspect)
LongRunTest.measured("every request was answered", servers.sum(&:failures).zero?, servers.sum(&:failures))

half = minutes.last(MINUTES / 2)
# Least squares, bytes a minute.
slopes = half.map(&:own).transpose.map do |own|
  middle = (own.size - 1) / 2.0
  own.each_with_index.sum { |bytes, i| (i - middle) * (bytes - mean(own)) } / own.each_index.sum { |i| (i - middle)**2 }
end
level = mean(half.flat_map(&:own))
growth = slopes.map { |slope| slope * half.size / level }
# Of the workers together: the slope of one worker has a standard error of 4% in ten minutes.
LongRunTest.measured("own memory is flat: the second half's slope makes less than 5% of it", mean(growth) < 0.05,
      "#{growth.map { |share| format("%+.2f%%", share * 100) }.join(" ")} of #{(level / 1024).round} KiB in #{half.size} minutes")
LongRunTest.measured("own memory stayed in its bound", stats.all? { |stat| stat["bytes_peak"] <= stat["bytes_max"] },
      "#{stats.map { |stat| stat["bytes_peak"] / 1024 }.join(" ")} KiB at most, bound #{stats.first["bytes_max"] / 1024}")

ratios = minutes.map { |minute| minute.ratio(:p50) }
drift = median(ratios.last(MINUTES / 2)) / median(ratios.first(MINUTES / 2))
LongRunTest.measured("latency does not drift: on to off, the second half against the first", drift < 1.05,
      format("%.3f (bound 1.05); p50 on to off %.3f (off again %.3f), p99 %.3f", drift, median(ratios),
             median(minutes.map { |minute| minute.control(:p50) }), median(minutes.map { |minute| minute.ratio(:p99) })))

# Where the memory of a worker is. How large a heap is depends on where it was between two collections, too; so all collect
# first, and the larger of the two without sampling is what is compared with. For copy-on-write by itself there is
# benchmark/run workers, with many sizes. Where malloc is sampled, jemalloc's own profiler takes more: each small block that
# it samples has 16 KiB.
PSS_BOUND = SETTINGS.include?("malloc=off") ? 1.03 : 1.05
servers.each(&:collect)
settled = servers.map { |server| mean(server.workers.map { |pid| server.pss(pid) }) }
accounts = servers.map { |server| server.workers.map { |pid| server.stat(pid).fetch("memory") } }
parts = %w[slots_live slots_free malloc_live malloc_waste malloc_metadata stacks code_and_files sampler unattributed rss pss]
puts "# of a worker that has collected, MiB, on/off/off again: " + parts.map { |part|
  "#{part} #{accounts.map { |list| format("%.2f", mib(mean(list.map { |account| account[part].to_i }))) }.join("/")}"
}.join(", ")
medians = half.map(&:pss).transpose.map { |list| median(list) }
against = lambda { |pss| format("%.4f of off, %.4f of off again", pss[0] / pss[1], pss[0] / pss[2]) }
LongRunTest.measured("memory: PSS of a worker, on to the larger of off and off again", medians[0] <= PSS_BOUND * medians[1..].max,
      "#{against[medians]} (bound #{PSS_BOUND}), collected #{against[settled]}; #{format("%.2f", mib(level))} MiB are its own")

on.stop
files = on.profiles
read = files.map do |path|
  meta = GC::SampleProfile.load(path).meta
  [path, meta.dig("process", "id") || meta["process_id"], meta]
end
wrong = read.reject { |path, pid, _| path[/heap-(\d+)-/, 1].to_i == pid }
LongRunTest.measured("every profile is readable, and says the process in its name", wrong.empty?, "#{files.size} files")
by_pid = read.group_by { |_, pid, _| pid }
LongRunTest.measured("each worker and the master wrote its own", by_pid.keys.sort == pids.sort && by_pid.values.all? { |list| list.size >= MINUTES - 1 },
      by_pid.map { |pid, list| "#{pid}: #{list.size}" }.join(", "))
LongRunTest.measured("no file is anyone else's to read", files.all? { |path| File.stat(path).mode & 0o777 == 0o600 }, "mode 0600")
beside = Dir.children(File.join(OUT, "on")) - files.map { |f| File.basename(f) }
LongRunTest.measured("nothing else was said or left",
      on.log !~ /heap-sample: (?!wrote)/ && beside.all? { |f| f.match?(/\A(puma\.log|collect|stat-\d+\.json(\.new)?)\z/) },
      on.log.lines.grep(/heap-sample: (?!wrote)/).first(3).inspect)
servers.each(&:stop)
