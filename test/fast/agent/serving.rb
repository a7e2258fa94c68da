# frozen_string_literal: true

# Starts Rubies with the sampler and an agent that serves them, and sends requests to it. The agent also serves processes of
# other suites: so each request names its process.

require_relative "../../testing"
require_relative "../../gems"
OUT = set_up_gems(__dir__)

require "heapsample/tool"
require "json"
require "stringio"
require "zlib"
require_relative "../../server"

Answer = Struct.new(:status, :headers, :body) do
  def profile = HeapSample::Profile.load(StringIO.new(body), name: "it")
end

# HTTP in a few lines: hostile requests must be possible. +to+: a port of 127.0.0.1, or the path of a socket.
module Client
  DEADLINE = 60

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
end

# A process that was started here; it ends with the block.
Started = Struct.new(:io) do
  def pid = io.pid
  def line = io.gets
  def say(text = "") = io.puts(text)
end

# An agent: its process, and where it listens. +lines+: all that it has printed, errors among it.
class Agent
  include Client

  # Printed of each process that was killed, processes of other suites among them.
  KILLED = /\Aheapsample: process (\d+)(?: \(.*\))? has ended unexpectedly: .*\n\z/

  attr_reader :process, :to, :lines

  def initialize(process)
    @process = process
    @lines = [process.line.to_s]
    @to = @lines.first[/http:.*:(\d+)\.$/, 1]&.to_i || @lines.first[/unix:(.*)\.$/, 1] || raise("the agent does not start: #{@lines.first}")
  end

  def get(path, **headers) = ask(to, request(path, **headers))

  # The answer when it has this status: a new process is listed within a second or two.
  def get_when(path, status = 200, **headers) = waits_for(DEADLINE) { get(path, **headers).then { |answer| answer if answer.status == status } }
  def files = Dir.children("/proc/#{process.pid}/fd").size
  def invitation = next_line[%r{http\S+(/login/\h+)$}, 1]
  def next_line = (lines << process.line).last.then { |line| line&.match?(KILLED) ? next_line : line }

  # The processes of which it has printed that they were killed.
  def killed = printed.filter_map { |line| line[KILLED, 1]&.to_i }

  # What it has printed besides.
  def complaints = printed.drop(1).grep_v(KILLED).grep_v(%r{ http\S+/login/\h+$})

  private

  def printed
    while process.io.wait_readable(0) && (line = process.line)
      lines << line
    end
    lines
  end
end

class AgentTest < Test
  include Client

  EXE = File.join(TOP, "src/libexec/heapsample")
  TOKEN = "0123456789abcdef0123456789abcdef"
  # Sockets of all processes are here.
  FOLDER = Dir.mktmpdir("agent", "/tmp")
  Minitest.after_run { FileUtils.rm_rf(FOLDER) }
  ENV.update("TMPDIR" => FOLDER, "XDG_RUNTIME_DIR" => nil, "HEAPSAMPLE_TOKEN_FILE" => nil)
  TOKEN_FILE = "#{FOLDER}/token"
  File.write(TOKEN_FILE, "#{TOKEN}\n", perm: 0o600)
  BEARER = {Authorization: "Bearer #{TOKEN}"}.freeze
  SLEEPS = "$kept = Array.new(20_000) { Object.new }; ready; sleep"

  # Has the program and the signal handler of a Ruby with the sampler, and answers at its address.
  FAKE = <<~'RUBY'
    require "socket"
    def frame(body, length = body.bytesize, type: "json") = "heap-sample/1 ok #{type} #{length}\n#{body}"
    folder = "#{ENV["TMPDIR"]}/ruby-heap-#{Process.euid}"
    Dir.mkdir(folder, 0o700) unless File.directory?(folder)
    server = UNIXServer.new("#{folder}/#{$$}-#{File.read("/proc/self/stat")[/.*\)(.*)/m, 1].split[19]}.sock")
    $stdout.puts("ready") || $stdout.flush
    while (guest = server.accept)
      Thread.new(guest) { |io| answer(io, io.gets) rescue nil; io.close rescue nil }
    end
  RUBY

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
      assert_equal "ready\n", process.line
      yield process
    end
  end

  def fake(body)
    started({"RUBY_HEAP_SAMPLE" => nil, "RUBYOPT" => nil}, RbConfig.ruby, "-W0", "--disable=gems", "-e", "def answer(io, line)\n#{body}\nend\n#{FAKE}") do |process|
      assert_equal "ready\n", process.line
      yield process
    end
  end

  # An agent, which prints nothing but what it should.
  def agent(*options, address: unused_address)
    started({}, RbConfig.ruby, "-rbundler/setup", EXE, "agent", *(["--http", address] if address), *options, err: %i[child out]) do |process|
      it = Agent.new(process)
      yield it
      assert_empty it.complaints
    end
  end

  def tcp_agent(*options, &) = agent("--token-file", TOKEN_FILE, *options, address: "127.0.0.1:0", &)
  def unused_address = "unix:#{FOLDER}/#{Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)}.sock"

  # What the command prints, and how it ended.
  def heapsample(*arguments, env: {}) = Open3.capture2e({"RUBYOPT" => nil, "RUBYLIB" => nil, **env}, RbConfig.ruby, "--disable=gems", EXE, *arguments)
end
