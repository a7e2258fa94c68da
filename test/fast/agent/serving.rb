# frozen_string_literal: true

# Runs Rubies with the sampler and an agent that serves them, and asks it. Processes of other suites are served, too: so
# each request names its process.

require "heapsample/tool"
require "json"
require "open3"
require "rbconfig"
require "stringio"
require "zlib"
require_relative "../../server"

OUT = ARGV.fetch(0)
EXE = File.expand_path("../../../src/libexec/heapsample", __dir__)
TOKEN = "0123456789abcdef0123456789abcdef"
# Sockets of all processes are here.
FOLDER = Dir.mktmpdir("agent", "/tmp")
at_exit { FileUtils.rm_rf(FOLDER) }
ENV.update("TMPDIR" => FOLDER, "XDG_RUNTIME_DIR" => nil)
TOKEN_FILE = "#{FOLDER}/token"
File.write(TOKEN_FILE, "#{TOKEN}\n", perm: 0o600)
BEARER = {Authorization: "Bearer #{TOKEN}"}.freeze
DEADLINE = 60

Answer = Struct.new(:status, :headers, :body) do
  def profile = HeapSample::Profile.load(StringIO.new(body), name: "it")
end

# +to+: a port of 127.0.0.1, or a path.
def connect(to) = to.is_a?(Integer) ? TCPSocket.new("127.0.0.1", to) : UNIXSocket.new(to)

# The whole answer to the text of a request.
def ask(to, request)
  socket = connect(to)
  socket.write(request)
  answered(socket)
ensure
  socket&.close
end

def answered(socket)
  socket.timeout = DEADLINE
  head, body = socket.read.b.split("\r\n\r\n", 2)
  status, *fields = head.to_s.split("\r\n")
  Answer.new(status.to_s[/ (\d+)/, 1].to_i, fields.to_h { |field| field.split(": ", 2).then { |name, value| [name.downcase, value] } }, body)
end

def request(path, method: "GET", **headers)
  fields = {"Host" => "localhost", "Connection" => "close", **headers.transform_keys(&:to_s)}.compact.map { |name, value| "#{name}: #{value}\r\n" }.join
  "#{method} #{path} HTTP/1.1\r\n#{fields}\r\n"
end

def get(to, path, **headers) = ask(to, request(path, **headers))

# The answer when it has this status: a new process is listed within a second or two.
def get_when(to, path, status = 200, **headers) = waits_for(DEADLINE) { get(to, path, **headers).then { |answer| answer if answer.status == status } }

# A process that was started here; it ends with the block.
Started = Struct.new(:io) do
  def pid = io.pid
  def line = io.gets
  def say(text = "") = io.puts(text)
end

def started(env, *command, **options)
  io = IO.popen([env, *command, {pgroup: true, **options}], "r+")
  yield Started.new(io)
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

# A Ruby with the sampler that runs the script, once it has called `ready`.
def sampled(script, settings = "interval=4k,malloc=off,output=none", options = [])
  program = "$stdout.sync = true; def ready = $stdout.puts('ready'); #{script}"
  started({"RUBY_HEAP_SAMPLE" => settings, "RUBYOPT" => nil}, RbConfig.ruby, "-W0", "--disable=gems", *options, "-e", program) do |process|
    equal "ready\n", process.line
    yield process
  end
end

# The agent lists processes of other suites, too: it says of each that was killed.
KILLED = /\Aheapsample: process (\d+)(?: \(.*\))? has ended without a goodbye: it was killed, crashed, or called exit!\n\z/

# An agent: where it listens, and all that it has printed, errors among it.
Serving = Struct.new(:process, :to, :printed) do
  def get(...) = Object.send(:get, to, ...)
  def get_when(...) = Object.send(:get_when, to, ...)
  def files = Dir.children("/proc/#{process.pid}/fd").size
  def invitation = (printed << next_line).last[%r{http\S+(/login/\h+)$}, 1]
  def next_line = process.line.then { |line| line&.match?(KILLED) ? next_line : line }

  # Ends it: what it has printed since.
  def rest
    Process.kill(:TERM, process.pid)
    process.io.read.lines
  end
end

def agent(*options)
  started({}, RbConfig.ruby, "-rbundler/setup", EXE, "agent", *options, err: %i[child out]) do |process|
    first = process.line.to_s
    to = first[/http:.*:(\d+)\.$/, 1]&.to_i || first[/unix:(.*)\.$/, 1] || flunk(first)
    yield Serving.new(process, to, [first])
  end
end

def tcp_agent(*options, &) = agent("--http", "127.0.0.1:0", "--token-file", TOKEN_FILE, *options, &)

# What the command prints, and how it ended.
def heapsample(*arguments, env: {}) = Open3.capture2e({"RUBYOPT" => nil, "RUBYLIB" => nil, **env}, RbConfig.ruby, "--disable=gems", EXE, *arguments)
