# frozen_string_literal: true

# A process that is busy with all that may get into the way, and guests who send noise.

require_relative "../../fast/http/serving"

SECONDS = Integer(ENV.fetch("NOISE_SECONDS", "20"))
SEED = Integer(ENV.fetch("NOISE_SEED", "1"))
PIECES = ["GET ", "HEAD ", "POST ", "/debug/pprof/heap", "/debug/pprof/allocs", "/metrics", "/memory", "/",
          "?gc=1", "?seconds=1", "&pid=", "?pid=1", " HTTP/1.1", "\r\n", "\r\n\r\n", "Host: localhost", "Host: x",
          "Content-Length: 5", "%41", "%", "\0", "\xFF".b, "heap-sample/1 ", "hello",
          "profile", "memory", "metrics", "member", "set interval=", "64k", "4k", " gc=1", " seconds=1", " of=x", "\n"].freeze
WHOLE = ["GET /debug/pprof/heap HTTP/1.0\r\n\r\n", "GET /metrics HTTP/1.0\r\n\r\n", "GET /debug/pprof/heap?seconds=1&gc=1 HTTP/1.0\r\n\r\n",
         "GET / HTTP/1.0\r\n\r\n", "GET /memory HTTP/1.0\r\n\r\n", "heap-sample/1 profile gc=1\n", "heap-sample/1 hello\n",
         "heap-sample/1 set interval=8k\n", "heap-sample/1 memory\n", "heap-sample/1 profile seconds=1 type=alloc_space\n"].freeze

BUSY = <<~RUBY
  $kept = []
  Thread.new { loop { $kept << Array.new(100) { "x" * rand(200) }; $kept.clear if $kept.size > 500; Thread.pass } }
  Thread.new { loop { GC.start; sleep 0.05 } }
  Thread.new { loop { GC.compact; sleep 0.3 } }
  Thread.new { loop { Process.wait(fork { $x = Array.new(1000) { Object.new }; sleep(rand * 0.2); rand < 0.5 ? exit!(0) : exec("true") }) } }
  ready
  while gets; ready; end
RUBY

def noise(random)
  return WHOLE.sample(random: random) if random.rand < 0.4
  return random.bytes(random.rand(1..12_000)) if random.rand < 0.1

  text = Array.new(random.rand(1..30)) { PIECES.sample(random: random).b }.join
  random.rand(3).times { text.setbyte(random.rand(text.bytesize), random.rand(256)) }
  text
end

# Sends it in pieces, and goes in the middle, reads all, reads nothing for a while, or hangs up.
def visit(to, random)
  socket = connect(to)
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

serving(BUSY, settings: "interval=2k,malloc=16k,output=none") do |it|
  files = it.files
  visits = Array.new(12) do |number|
    Thread.new do
      random = Random.new(SEED + number)
      count = 0
      deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + SECONDS
      while Process.clock_gettime(Process::CLOCK_MONOTONIC) < deadline
        socket = Dir.glob("#{it.folder}/ruby-heap-*/#{it.pid}-*.sock").first
        visit(number.even? ? it.to : socket, random)
        count += 1
      end
      count
    end
  end
  count = visits.sum(&:value)
  test "after #{count} visits of noise in #{SECONDS} s, seed #{SEED}, it runs" do
    it.io.puts
    equal "ready\n", it.io.gets
  end
  test("it answers") { waits_for(20) { it.get("/debug/pprof/heap?gc=1").status == 200 } }
  test("it has no more descriptors than before") { waits_for(20) { it.files <= files + 2 } }
  test("and holds no snapshots") { waits_for(20) { samples(it.get("/metrics?pid=#{it.pid}").body).fetch("ruby_heap_sampler_memory_bytes{pid=\"#{it.pid}\",use=\"snapshots\"}") < 4 << 20 } }
end
Tap.finish
