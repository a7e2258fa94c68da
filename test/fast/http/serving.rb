# frozen_string_literal: true

# Runs a program that answers HTTP, and asks it.

require "heap_sample"
require "rbconfig"
require "socket"
require "stringio"
require "tmpdir"
require_relative "../../server"
require_relative "../../tap"

OUT = ARGV.fetch(0)

# What came back. `headers` by lower-case name.
Answer = Struct.new(:status, :headers, :body) do
  def profile = HeapSample::Profile.load(StringIO.new(body), name: "it")
end

def parsed(text)
  head, body = text.b.split("\r\n\r\n", 2)
  lines = head.to_s.split("\r\n")
  Answer.new(lines.first.to_s[/\AHTTP\/1\.1 (\d+) /, 1].to_i, lines.drop(1).to_h { |line| line.downcase.split(": ", 2) }, body)
end

# `to`: a port of 127.0.0.1, or a path.
def connect(to) = to.is_a?(Integer) ? TCPSocket.new("127.0.0.1", to) : UNIXSocket.new(to)

def ask(to, request)
  socket = connect(to)
  socket.timeout = 30
  socket.write(request)
  parsed(socket.read)
ensure
  socket&.close
end

def get(to, path, method: "GET", **headers)
  fields = {"Host" => "localhost", **headers.transform_keys(&:to_s)}.map { |name, value| "#{name}: #{value}\r\n" }.join
  ask(to, "#{method} #{path} HTTP/1.1\r\n#{fields}\r\n")
end

# The samples of a page of metrics: {"name{labels}" => number}.
def samples(page) = page.lines.grep_v(/\A#/).to_h { |line| line.split(/ (?=\S+$)/).then { |name, value| [name, value.to_f] } }

def pids(page) = page.scan(/pid="(\d+)"/).flatten.map(&:to_i).uniq

def listens?(to)
  connect(to).close
  true
rescue SystemCallError
  false
end

def seconds
  began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  yield
  Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
end

# A program, as who asks it knows it: `io` is its input and output, `to` where it answers.
Served = Struct.new(:io, :to, :folder) do
  def pid = io.pid

  def get(...) = Object.send(:get, to, ...)

  def files = Dir.children("/proc/#{pid}/fd").size

  def rss = File.read("/proc/#{pid}/status")[/VmRSS:\s+(\d+)/, 1].to_i << 10
end

# The Ruby that is asked may be another one, such as one with a sanitizer.
SERVED = ENV.fetch("SERVED_RUBY", RbConfig.ruby)

# Sockets are found where TMPDIR says: each program has its own family's folder, unless told. `http`: `true`, a free port.
# `says`: what it prints before it is ready.
def serving(script, http: true, settings: "interval=4k,output=none", env: {}, says: nil)
  Dir.mktmpdir("h", "/tmp") do |folder|
    to = http == true ? free_port : http
    text = [settings, (to.is_a?(Integer) ? "http=127.0.0.1:#{to}" : to && "http=unix:#{to}")].compact.join(",")
    all = {"TMPDIR" => folder, "XDG_RUNTIME_DIR" => nil, "RUBY_HEAP_SAMPLE" => text, **env}
    program = "$stdout.sync = true; def ready = $stdout.puts('ready'); #{script}"
    io = IO.popen([all, SERVED, "-W0", "--disable=gems", "-e", program, {err: %i[child out], pgroup: true}], "r+")
    line = io.gets
    if says
      assert(says.match?(line), line)
      line = io.gets
    end
    flunk("it says #{line}") unless line == "ready\n"
    yield Served.new(io, to, folder)
  ensure
    if io
      begin
        Process.kill(:KILL, -io.pid)
      rescue SystemCallError
        nil
      end
      io.close
    end
  end
end
