# frozen_string_literal: true

# A process that forks, compacts and is asked by twelve clients at once, who send noise.

require "heapsample"
require "rbconfig"
require "socket"
require "tmpdir"
require_relative "../../testing"

SECONDS = Integer(ENV.fetch("NOISE_SECONDS", "20"))
SEED = Integer(ENV.fetch("NOISE_SEED", "1"))
SERVED = ENV.fetch("SERVED_RUBY", RbConfig.ruby)
PIECES = ["GET / HTTP/1.1\r\n", "%41", "%", "\0", "\xFF".b, "heap-sample/1 ", "hello", "profile", "memory", "wait", "start", "stop",
          "set interval=", "64k", "4k", " gc=1", " why=1", " diagnose=5%25", " type=alloc_space", "=", " ", "\n"].freeze
WHOLE = ["profile gc=1 diagnose=10%25", "profile type=alloc_space", "hello", "set interval=8k", "memory", "wait"].map { |request| "heap-sample/1 #{request}\n" }.freeze

BUSY = <<~RUBY
  $stdout.sync = true
  $kept = []
  Thread.new { loop { $kept << Array.new(100) { "x" * rand(200) }; $kept.clear if $kept.size > 500; Thread.pass } }
  Thread.new { loop { GC.start; sleep 0.05 } }
  Thread.new { loop { GC.compact; sleep 0.3 } }
  Thread.new { loop { Process.wait(fork { $x = Array.new(1000) { Object.new }; sleep(rand * 0.2); rand < 0.5 ? exit!(0) : exec("true") }) } }
  puts "ready"
  while gets; puts "ready"; end
RUBY

def noise(random)
  return WHOLE.sample(random: random) if random.rand < 0.4
  return random.bytes(random.rand(1..12_000)) if random.rand < 0.1

  text = Array.new(random.rand(1..30)) { PIECES.sample(random: random).b }.join
  random.rand(3).times { text.setbyte(random.rand(text.bytesize), random.rand(256)) }
  text
end

# Sends it in two pieces, then hangs up, reads a part, or reads all.
def visit(path, random)
  socket = UNIXSocket.new(path)
  socket.timeout = 3
  text = noise(random)
  cut = random.rand(text.bytesize + 1)
  [text.byteslice(0, cut), text.byteslice(cut..)].each { |part| socket.write(part) }
  socket.close_write if random.rand < 0.3
  case random.rand(4)
  when 0 then nil
  when 1 then socket.read(random.rand(100) + 1)
  else socket.read
  end
rescue SystemCallError, IOError
  nil
ensure
  socket&.close
end

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

# Visits the process for so many seconds; how often.
def visit_often(folder, pid, number)
  random = Random.new(SEED + number)
  deadline = now + SECONDS
  (1..).find do
    visit(Dir.glob("#{folder}/ruby-heap-*/#{pid}-*.sock").first, random)
    now >= deadline
  end
end

class NoiseTest < Test
  test "after noise from twelve clients in #{SECONDS} s, seed #{SEED}, a process runs, answers, and holds no descriptors or snapshots" do
    busy do |io, folder|
      process = HeapSample::LiveProcess.new(io.pid)
      descriptors = -> { Dir.children("/proc/#{io.pid}/fd").size }
      before = descriptors.call
      visits = Array.new(12) { |number| Thread.new { visit_often(folder, io.pid, number) } }
      note "#{visits.sum(&:value)} visits"
      io.puts
      assert_equal "ready\n", io.gets
      within(180, "it does not answer") { answers?(process) }
      within(20, "it has more descriptors than before") { descriptors.call <= before + 2 }
      within(20, "it holds snapshots") { JSON.parse(process.bytes("memory")).fetch("sampler").fetch("bytes") < 16 << 20 }
    end
  end

  private

  def busy
    Dir.mktmpdir("noise", "/tmp") do |folder|
      variables = {"TMPDIR" => folder, "XDG_RUNTIME_DIR" => nil, "RUBY_HEAP_SAMPLE" => "interval=2k,malloc=16k,output=none"}
      io = IO.popen([variables, SERVED, "-W0", "--disable=gems", "-e", BUSY, {err: %i[child out], pgroup: true}], "r+")
      assert_equal "ready\n", io.gets
      yield io, folder
    ensure
      Process.kill(:KILL, -io.pid)
      io.close
    end
  end

  def answers?(process)
    process.profile(gc: true, diagnose: "50%")
  rescue HeapSample::LiveSocket::Declined
    nil # forced GCs rest
  end

  def within(seconds, otherwise)
    deadline = now + seconds
    sleep 0.05 until (done = yield) || now > deadline
    assert done, otherwise
  end
end
