# frozen_string_literal: true

# Guests that nobody wants: others are answered all the same, and the process stays as it was.

require_relative "serving"

def write_all(socket, text)
  socket.write(text)
rescue SystemCallError
  nil
end

def status_of(socket) = parsed(socket.read).status

serving("$kept = Array.new(100_000) { Object.new }; ready; sleep", settings: "interval=64,output=none,max-samples=none") do |it|
  it.get("/metrics")
  files = it.files
  test "half a request is cut off after 5 s" do
    guest = connect(it.to)
    guest.write("GET / HTTP/1.1\r\nHost:")
    took = seconds { equal "", guest.read }
    assert(took.between?(4, 30), took.to_s)
  end
  test "so is one that comes byte by byte" do
    guest = connect(it.to)
    took = seconds { ("GET / HTTP/1.1\r\n" + ("X: y\r\n" * 100)).each_char { |char| write_all(guest, char) or break; sleep 0.1 } }
    assert(took.between?(4, 30), took.to_s)             # all of it would take a minute
  end
  test "10 MB of a head are refused, and the refusal arrives" do
    guest = connect(it.to)
    writer = Thread.new { write_all(guest, "GET / HTTP/1.1\r\nX: #{"x" * (10 << 20)}") }
    equal 431, status_of(guest)
    writer.join
  end
  test "of two requests in one connection the first is answered, and no more" do
    guest = connect(it.to)
    guest.write("GET /debug/pprof/cmdline HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
    equal 1, guest.read.scan("HTTP/1.1 200").size
  end
  test "of 200 at once each is answered or told to come again, and then others are" do
    guests = Array.new(200) { connect(it.to) }
    guests.each_with_index { |guest, i| write_all(guest, i.even? ? "GET /debug/pprof/heap HTTP/1.1\r\nHost: localhost\r\n\r\n" : "GET /met") }
    statuses = guests.values_at(*(0...200).step(2)).map { |guest| status_of(guest) rescue :reset }
    guests.each(&:close)
    assert(statuses.include?(503) && (statuses - [200, 503, :reset]).empty?, statuses.tally.inspect)
    waits_for(60) { it.get("/metrics").status == 200 rescue nil }
  end
  test "one who never reads does not keep others waiting" do
    readers = Array.new(8) { connect(it.to).tap { |guest| guest.write("GET /debug/pprof/heap HTTP/1.1\r\nHost: localhost\r\n\r\n") } }
    assert(Array.new(5) { seconds { equal 200, it.get("/metrics").status } }.min < 1)
    readers.each(&:close)
  end
  test "and afterwards no descriptor is left" do
    waits_for(60) { it.files <= files }
  end
  test "noise is refused" do
    random = Random.new(20_261_123)
    statuses = Array.new(100) { parsed(connect(it.to).tap { |guest| write_all(guest, random.bytes(random.rand(1..9000)) + "\r\n\r\n") }.read).status rescue :reset }
    assert((statuses - [400, 405, 431, :reset]).empty?, statuses.tally.inspect)
    equal 200, it.get("/metrics").status
  end
end

serving("ready; gets; Process.setrlimit(:NOFILE, Dir.children('/proc/self/fd').size - 1, 1000); ready; gets; Process.setrlimit(:NOFILE, 1000); ready; sleep") do |it|
  test "where there is no descriptor left it neither spins nor ends, and answers when there is one" do
    it.io.puts
    it.io.gets
    cpu = -> { File.read("/proc/#{it.pid}/stat").split.values_at(13, 14).sum(&:to_i) }
    before = cpu.call
    guest = connect(it.to)
    guest.write("GET /debug/pprof/cmdline HTTP/1.0\r\n\r\n")
    sleep 1
    assert(cpu.call - before < 20, "#{cpu.call - before} hundredths of a second")
    it.io.puts
    it.io.gets
    equal 200, status_of(guest)
  end
end

def refused(settings) = IO.popen([{"RUBY_HEAP_SAMPLE" => nil}, RbConfig.ruby, "--disable=gems", "--heap-sample=#{settings}", "-e", "0", {err: %i[child out]}], &:read)

test "where other machines get there, a token must be set" do
  assert(refused("http=0.0.0.0:6060").include?("set http-token=FILE"), refused("http=0.0.0.0:6060"))
  assert(refused("http=example.com:80").include?("must be ADDRESS:PORT"))
  assert(refused("http-token=token,http=:6060").include?("absolute path"))
end

Dir.mktmpdir do |folder|
  token = "#{folder}/token"
  File.write(token, "s3cret\n", perm: 0o600)
  port = free_port
  serving("ready; sleep", http: nil, settings: "output=none,http=0.0.0.0:#{port},http-token=#{token}") do
    test "with the token one is let in, and with nothing else" do
      equal [401, 401, 200], [get(port, "/metrics"), get(port, "/metrics", Authorization: "Bearer s3cre"), get(port, "/metrics", Authorization: "Bearer s3cret", Host: "app.example")].map(&:status)
    end
    test "a new word in the file counts at once" do
      File.write(token, "other")
      equal [401, 200], [get(port, "/metrics", Authorization: "Bearer s3cret"), get(port, "/metrics", Authorization: "Bearer other")].map(&:status)
    end
  end
  File.chmod(0o644, token)
  test "a token that others can read opens nothing, and why is said" do
    said = refused("output=none,http=127.0.0.1:#{port},http-token=#{token}")
    assert(said.include?("chmod 600"), said)
  end
end

Tap.finish
