# frozen_string_literal: true

# What receivers get: each kind of request against its schema, sums, limits, labels, and receivers that fail.

require "openssl"
require_relative "serving"
require_relative "../../check/library/builds"

# A server of the test's own: it keeps each request, and answers with what the block returns: a status and a body, the text of
# an answer, or nil, which closes the connection.
class Receiver
  Got = Struct.new(:line, :headers, :body)

  attr_reader :got, :port

  def initialize(server = TCPServer.new("127.0.0.1", 0), tls: nil, &answer)
    @got, @answer, @port = [], answer || -> { [200, "{}"] }, (server.addr[1] if server.is_a?(TCPServer))
    server = OpenSSL::SSL::SSLServer.new(server, tls) if tls
    @thread = Thread.new do
      loop { Thread.new(server.accept) { |socket| serve(socket) } }
    rescue OpenSSL::SSL::SSLError
      retry
    end
  end

  def paths = got.map { |one| one.line[/POST (\S+)/, 1] }

  private

  def serve(socket)
    line = socket.gets("\r\n").to_s.chomp
    headers = {}
    while (field = socket.gets("\r\n")&.chomp) && !field.empty?
      field.split(": ", 2).then { |name, value| headers[name.downcase] = value }
    end
    got << Got.new(line, headers, socket.read(headers["content-length"].to_i))
    status, body = @answer.call
    socket.write(status.is_a?(Integer) ? "HTTP/1.1 #{status} It\r\nContent-Type: application/json\r\nContent-Length: #{body.bytesize}\r\n\r\n#{body}" : status.to_s)
  rescue SystemCallError, IOError
    nil
  ensure
    socket.close
  end
end

class SendingTest < AgentTest
  Tool = HeapSample::Tool
  Process_ = Struct.new(:pid, :key)
  DOC = File.read("#{TOP}/doc/agent.md")

  ALLOCATES = <<~'RUBY'
    require "fileutils"
    Dir.chdir(FileUtils.mkdir_p("#{ENV["TMPDIR"]}/shop/releases/7").first)
    $0 = "puma: cluster worker 3: 17 [shop]"
    $kept = []
    def allocates(count) = count.times { |i| GC::SampleProfile.with_labels(controller: "c#{i % 3}", secret: "s") { $kept << Object.new } }
    ready
    while (line = gets)
      allocates(line.to_i)
      puts "done"
    end
  RUBY

  shared(:process) { |share| sampled(ALLOCATES, "interval=4k,malloc=off,output=none,deploy=v9") { |process| share.call(process) } }

  def bytes_of(process) = HeapSample::LiveProcess.new(process.pid).bytes("profile", for: "agent")

  def allocate(count)
    process.say(count)
    assert_equal "done\n", process.line
    bytes_of(process)
  end

  def take(bytes, pid = process.pid) = Tool::AgentTake.new(Process_.new(pid, [pid, "1"]), bytes, Time.now, 1 << 20)
  def built(build) = StringIO.new("".b).tap { |io| HeapSample::PprofWriter.new(build.profile).write(io) }.string

  # Takes of a process that started after the agent.
  def sending(*to, dropped: [], env: {}, interval: 0, share: Float::INFINITY, **options)
    senders = to.map { |text| Tool::AgentSender.new(Tool::AgentReceiver.new(text, env), **options) }
    Tool::AgentSending.new(senders, dropped, interval: interval, share: share, began: Time.at(0)).tap do |it|
      (@threads ||= []).push(it.run, *senders.map(&:run))
    end
  end

  # A sender that goes on would print while another test looks at what is printed.
  def teardown
    @threads&.each(&:kill)&.each(&:join)
    super
  end

  def senders(sending) = sending.instance_variable_get(:@senders)

  # What +server+ gets of some takes.
  def sent(server, to, *takes, **options)
    it = sending(to, **options)
    takes.each_with_index do |one, index|
      it.profile(one)
      waits_for(60) { server.got.size > index }
    end
    server.got
  end

  def said
    was, $stderr = $stderr, StringIO.new
    yield
    $stderr.string
  ensure
    $stderr = was
  end

  def push(got) = JSON.parse(got.body).fetch("series").fetch(0)
  def pushed(got) = push(got)["samples"].map { |one| one["rawProfile"].unpack1("m0") }
  def raw(bytes) = File.binwrite("#{OUT}/sent.pb.gz", bytes) && Open3.capture2e("go", "tool", "pprof", "-raw", "#{OUT}/sent.pb.gz").first

  # Strings of a profile, and its samples as [labels, values].
  def decoded(bytes)
    strings, samples = [], []
    data = bytes.start_with?("\x1f\x8b".b) ? Zlib.gunzip(bytes) : bytes
    HeapSample::Protobuf.new(data).each_field do |number, from, to|
      strings << data.byteslice(from, to - from).force_encoding("UTF-8") if number == 6
      samples << [from, to] if number == 2
    end
    [strings, samples.map { |from, to| sample(data, strings, from, to) }]
  end

  def sample(data, strings, from, to)
    labels, values = {}, []
    HeapSample::Protobuf.new(data, from, to).each_field do |number, start, stop|
      values = HeapSample::Protobuf.packed(data, start, stop) if number == 2
      next unless number == 3

      pair = []
      HeapSample::Protobuf.new(data, start, stop).each_field { |field, value,| pair[field] = strings[value] }
      labels[pair[1]] = pair[2]
    end
    [labels, values]
  end

  def sums(bytes) = decoded(bytes).last.map(&:last).transpose.map(&:sum)
  def totals(bytes) = HeapSample::PprofWriter::VALUE_INDEXES.map { |at| HeapSample::Profile.load(StringIO.new(bytes), name: "it").table.sum { |row| row[at] }.round }

  # --- what each receiver gets ---

  test "Pyroscope gets push.v1: one series with its labels, a profile in base64, and a UUID" do
    server = Receiver.new
    bytes = allocate(5000)
    got = sent(server, "pyroscope+http://127.0.0.1:#{server.port}/", take(bytes), env: {"PYROSCOPE_TENANT_ID" => "t1", "PYROSCOPE_AUTH_TOKEN" => "glc_x"}).first
    assert_equal ["POST /push.v1.PusherService/Push HTTP/1.1", "application/json", "t1", "Bearer glc_x"], [got.line, *got.headers.values_at("content-type", "x-scope-orgid", "authorization")]
    assert_equal [%w[series], %w[labels samples], [%w[rawProfile ID]]], [JSON.parse(got.body).keys, push(got).keys, push(got)["samples"].map(&:keys)]
    assert_match(/\A\h{8}-\h{4}-\h{4}-\h{4}-\h{12}\z/, push(got)["samples"][0]["ID"])
    labels = push(got)["labels"].to_h { |label| label.values_at("name", "value") }
    assert_equal({"__name__" => "memory", "service_name" => "shop", "app" => "shop", "worker" => "3", "deploy" => "v9", "host" => labels["host"]}, labels)
    refute_empty labels["host"]
    assert_equal totals(bytes), sums(pushed(got).first)
    assert_equal [{"controller" => "c0", "secret" => "s"}], decoded(pushed(got).first).last.map(&:first).uniq.select { |set| set["controller"] == "c0" }
    assert_match(/^PeriodType: space bytes$.*^Period: \d+$.*^Samples:\nalloc_objects\/count alloc_space\/bytes inuse_objects\/count inuse_space\/bytes\[dflt\]$/m, raw(pushed(got).first))
  end

  test "an OpenTelemetry collector gets the profile, with the tags as labels of each sample, each once" do
    server = Receiver.new { [204, ""] }
    env = {"OTEL_SERVICE_NAME" => "store", "OTEL_EXPORTER_OTLP_HEADERS" => "x-tenant=a%20b,Authorization=Basic%20Zm9v"}
    got = sent(server, "otel+http://127.0.0.1:#{server.port}/", take(allocate(1000)), env: env).first
    assert_equal ["POST /v1/pprof HTTP/1.1", "a b", "Basic Zm9v"], [got.line, *got.headers.values_at("x-tenant", "authorization")]
    labels = decoded(got.body).last.map(&:first)
    assert_equal [["store", "shop", "3", "v9"]], labels.map { |set| set.values_at("service.name", "app", "worker", "deploy") }.uniq
    assert_includes raw(got.body), "service.name:[store]"
  end

  test "Parca gets allocations with a duration, which makes them deltas, and what is live without one" do
    server = Receiver.new
    got = sent(server, "parca+http://127.0.0.1:#{server.port}", take(allocate(1000))).first
    assert_equal "/api/profiles/writeraw", server.paths.first
    assert_equal [%w[normalized series], %w[labels samples], [["rawProfile"]] * 2], [JSON.parse(got.body).keys, push(got).keys, push(got)["samples"].map(&:keys)]
    assert_equal({"name" => "service_name", "value" => "shop"}, push(got).dig("labels", "labels")[1])
    allocated, live = pushed(got).map { |bytes| raw(bytes) }
    assert(allocated.match?(/^Duration: /) && allocated.include?("alloc_objects/count alloc_space/bytes[dflt]\n"), allocated[0, 300])
    assert(!live.match?(/^Duration: /) && live.include?("inuse_objects/count inuse_space/bytes[dflt]\n"), live[0, 300])
    # Its normalizer wants ids from 1 on without gaps.
    pushed(got).each { |bytes| raw(bytes)[/^Locations\n(.*?)^Mappings/m, 1].scan(/^ +(\d+):/).flatten.map(&:to_i).then { |ids| assert_equal (1..ids.size).to_a, ids } }
  end

  test "Datadog's agent gets event.json and profile.pprof, with the types of its profiler for Ruby, over a Unix socket too" do
    path = "#{FOLDER}/apm.socket"
    server = Receiver.new(UNIXServer.new(path))
    got = sent(server, "datadog", take(allocate(1000)), env: {"DD_TRACE_AGENT_URL" => "unix://#{path}", "DD_SERVICE" => "web", "DD_ENV" => "prod"}).first
    assert_equal "/profiling/v1/input", server.paths.first
    edge = got.headers["content-type"][/\Amultipart\/form-data; boundary=(\S+)\z/, 1]
    parts = got.body.split("--#{edge}").drop(1).to_h { |part| part.split("\r\n\r\n", 2).then { |head, body| [head[/ name="([^"]+)"/, 1], body&.delete_suffix("\r\n")] } }
    event = JSON.parse(parts["event"])
    assert_equal [["profile.pprof"], "ruby", "4"], event.values_at("attachments", "family", "version")
    assert_equal %w[attachments tags_profiler family version start end endpoint_counts internal info], event.keys
    tags = event["tags_profiler"].split(",").grep_v(/^host:/)
    assert_equal %w[app:shop env:prod language:ruby runtime:ruby service:web version:v9 worker:3], tags.sort
    event.values_at("start", "end").each { |time| assert_match(/\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z\z/, time) }
    assert_includes raw(parts["profile.pprof"]), "alloc-samples/count alloc-size/bytes heap-live-samples/count heap-live-size/bytes[dflt]\n"
  end

  # --- sums, limits, labels ---

  test "the profiles add up to what the process allocated, and its last one is sent when it ends" do
    server = Receiver.new
    sampled(ALLOCATES, "interval=4k,malloc=off,output=none") do |process|
      it = sending("pyroscope+http://127.0.0.1:#{server.port}")
      takes = [1000, 0, 30_000, 50].map do |count|
        process.say(count)
        process.line
        take(bytes_of(process), process.pid)
      end
      takes.first(3).each_with_index { |one, index| it.profile(one) && waits_for(10) { server.got.size > index } }
      it.ended(takes.last, nil)
      waits_for(10) { server.got.size == 4 }
      assert_equal totals(takes.last.bytes).first(2), server.got.map { |got| sums(pushed(got).first).first(2) }.transpose.map(&:sum)
      assert_equal totals(takes.last.bytes).last(2), sums(pushed(server.got.last).first).last(2)
      it.ended(takes.last, nil)
      sleep 0.3
      assert_equal totals(takes.last.bytes).first(2), sums(pushed(server.got.last).first).first(2), "a new process starts at 0"
    end
  end

  test "after exec the last profile of the program before it is sent, though it was not due" do
    server = Receiver.new
    it = sending("pyroscope+http://127.0.0.1:#{server.port}", interval: 3600)
    programs = Array.new(2) do
      sampled(ALLOCATES, "interval=4k,malloc=off,output=none") do |process|
        [1000, 30_000].map do |count|
          process.say(count)
          process.line
          take(bytes_of(process), 1)
        end
      end
    end
    # The PID and its start stay the same.
    it.profile(programs[0][0])
    waits_for(10) { server.got.size == 1 }
    it.instance_variable_get(:@making).synchronize { [programs[0][1], *programs[1]].each { |one| it.profile(one) } }
    waits_for(60) { server.got.size == 2 }
    assert_equal totals(programs[0][1].bytes).first(2), server.got.map { |got| sums(pushed(got).first).first(2) }.transpose.map(&:sum)
    it.ended(programs[1][1], nil)
    waits_for(10) { server.got.size == 3 }
    assert_equal totals(programs[1][1].bytes).first(2), sums(pushed(server.got.last).first).first(2)
  end

  test "what was allocated before the agent started, and what a parent allocated, is not sent again" do
    bytes = allocate(1000)
    deltas = Tool::AgentDeltas.new
    profile = Tool::AgentProfile.of(bytes)
    assert_equal [0, 0], deltas.change(profile, before: Time.now) { sums(profile.to_gz(nil)) }.first(2)
    later = Tool::AgentProfile.of(allocate(20_000))
    assert_operator deltas.change(later, before: Time.now) { sums(later.to_gz(nil)) }.first, :>, 15_000

    sampled("$kept = Array.new(50_000) { Object.new }; Process.wait(fork { ready; sleep })", "interval=4k,malloc=off,output=none") do |parent|
      child = waits_for(10) { File.read("/proc/#{parent.pid}/task/#{parent.pid}/children").split.map(&:to_i).first }
      profile = Tool::AgentProfile.of(bytes_of(Struct.new(:pid).new(child)))
      assert_equal [0, 0], Tool::AgentDeltas.new.change(profile, before: Time.at(0)) { sums(profile.to_gz(nil)) }.first(2)
    end
  end

  test "what was not put into a spool is in the next profile" do
    deltas = Tool::AgentDeltas.new
    bytes = allocate(3000)
    assert_raises(NoMemoryError) { deltas.change(Tool::AgentProfile.of(bytes)) { raise NoMemoryError } }
    profile = Tool::AgentProfile.of(bytes)
    assert_equal totals(bytes), deltas.change(profile) { sums(profile.to_gz(nil)) }
  end

  test "a process has 200 label sets at most, always the same; others are (other), and the sums stay" do
    server = Receiver.new
    build = lambda do |more|
      Build.new(interval: 1).tap { |it| 300.times { |i| it.row(["app.rb:#{i} A#a", "main.rb:1 <main>"], "String", inuse: 300 - i + more, labels: {"user.id" => i.to_s, "host" => "x"}) } }
    end
    got = sent(server, "pyroscope+http://127.0.0.1:#{server.port}", *[0, 50].map { |more| take(built(build[more])) })
    sets = got.map { |one| decoded(pushed(one).first).last.map(&:first).uniq }
    assert_equal [200, true], [sets.first.size - 1, sets.first.include?({"labels" => "(other)"})]
    assert_equal sets.first.sort_by(&:inspect), sets.last.sort_by(&:inspect)
    assert_includes sets.first, {"user_id" => "0", "exported_host" => "x"}
    assert_equal totals(built(build[50])).first(2), got.map { |one| sums(pushed(one).first).first(2) }.transpose.map(&:sum)
  end

  test "beyond 16,000 samples or 4 MiB the smallest become one stack (other), and the sums stay" do
    build = Build.new(interval: 1)
    17_000.times { |i| build.row(["#{"/long" * 60}/#{i}.rb:1 Foo#a#{i}", "main.rb:1 <main>"], "String", inuse: 1 + i % 50) }
    bytes = built(build)
    server = Receiver.new
    got = pushed(sent(server, "pyroscope+http://127.0.0.1:#{server.port}", take(bytes)).first).first
    plain = Zlib.gunzip(got)
    samples = decoded(got).last
    assert_operator plain.bytesize, :<=, 4 << 20
    assert_includes 5000..16_000, samples.size
    assert_equal totals(bytes), sums(got)
    assert_includes raw(got), "(other)"
    assert_operator samples.map { |_, values| values[3] }.sort[-2], :>=, 49 * 40
  end

  test "nothing leaves the host but what doc/agent.md lists, and no dropped label" do
    server = Receiver.new
    bytes = allocate(500)
    profile = HeapSample::Profile.load(StringIO.new(bytes), name: "it")
    frames = profile.frames.flat_map { |frame| [frame.label, frame.full_path] }
    listed = DOC[/^## What leaves the host\n.*?(?=^## )/m].scan(/`([^`]+)`/).flatten
    %w[pyroscope otel parca].each do |kind|
      server.got.clear
      got = sent(server, "#{kind}+http://127.0.0.1:#{server.port}", take(bytes), dropped: %w[secret host]).first
      labels = kind == "otel" ? {} : push(got)["labels"].then { |list| list.is_a?(Hash) ? list["labels"] : list }.to_h { |label| label.values_at("name", "value") }
      assert_empty labels.keys - listed
      refute_includes labels.keys, "host"
      (kind == "otel" ? [got.body] : pushed(got)).each do |one|
        strings, samples = decoded(one)
        set = samples.map(&:first).inject(:merge)
        refute_includes strings, "secret"
        assert_empty strings - frames - listed - ["", "controller", *%w[c0 c1 c2]] - set.values_at(*listed), kind
        assert_empty set.keys - listed - ["controller"]
      end
      assert_empty got.headers.keys - listed
    end
  end

  # --- receivers that fail ---

  BIG = "HTTP/1.1 200 OK\r\n#{"X-Filler: #{"y" * 4000}\r\n" * 600}\r\n{}"
  {"500" => [[500, "oops"], "answers 500: oops"], "408" => [[408, ""], "answers 408"], "429" => [[429, "slow down"], "answers 429"], "nothing" => [[nil], "EOFError"],
   "garbage" => [["\x16\x03\x01garbage\r\n\r\n"], "HTTPBadResponse"],
   "a page" => [[200, "<html>Sign in</html>"], "is not JSON"], "an endless answer" => [[BIG], "too long"]}.each do |what, (answer, reason)|
    test "a receiver that gives #{what}: the profile waits, one line when it begins, one when it works again" do
      count = 0
      server = Receiver.new { (count += 1) < 3 ? answer : [200, "{}"] }
      lines = said do
        it = sending("pyroscope+http://127.0.0.1:#{server.port}", backoff: 0.01)
        it.profile(take(allocate(10)))
        waits_for(20) { senders(it).first.results["sent"] == 1 }
        assert_equal({"sent" => 1, "refused" => 0, "expired" => 0, "failed" => 2}, senders(it).first.results)
        sleep 0.1
      end.lines
      assert_equal 2, lines.size, lines.join
      assert(lines.first.include?(reason) && lines.first.include?("pyroscope+http://127.0.0.1:#{server.port}: no profile can be sent"), lines.first)
      assert_includes lines.last, "accepts profiles again"
      assert_equal 1, server.got.map { |got| push(got)["samples"][0]["ID"] }.uniq.size, "the same id at each try"
    end
  end

  # Meta#began is a difference of two clocks: of a process that was not forked it may be after the start of sampling.
  test "where a clock was set, the first profile has all allocations, except of a forked process" do
    allocated = lambda do |more|
      profile = Tool::AgentProfile.of(take(allocate(1000)).bytes)
      info = profile.info
      later = HeapSample::Meta.new(info.instance_variable_get(:@values).merge("started_ns" => ((info.began.to_r - 1) * 1_000_000_000).to_i, **more))
      profile.define_singleton_method(:info) { later }
      Tool::AgentDeltas.new.change(profile, before: Time.at(0)) { nil }
      profile.values.each_value.sum { |lists| lists.each_value.sum(&:first) }
    end
    assert_operator allocated[{}], :>, 500
    assert_equal 0, allocated[{"inherited" => {"bytes" => 1, "unshared" => 1}}]
    assert_equal 0, allocated[{"inherited_missing" => "the kernel does not show it"}]
  end

  [413, 400, 401, 404, 302].each do |status|
    test "a receiver that answers #{status}: that profile is dropped, and one line is printed" do
      server = Receiver.new { [status, "no: tok-en and c2VjcmV0\e[31m"] }
      text = said do
        it = sending("pyroscope+http://127.0.0.1:#{server.port}", env: {"PYROSCOPE_AUTH_TOKEN" => "tok-en"})
        2.times { |index| it.profile(take(allocate(10))) && waits_for(10) { senders(it).first.results["refused"] == index + 1 } }
        sleep 0.1
      end
      assert_match(/\Aheapsample: \S+: refuses profiles, which are dropped: it answers #{status}: no: \[secret\]/, text)
      assert_equal [1, 2], [text.lines.size, server.got.size]
      refute_match(/tok-en|\e/, text)
    end
  end

  test "profiles are of a longer time where they would take more than a share of a processor" do
    server = Receiver.new
    it = sending("pyroscope+http://127.0.0.1:#{server.port}", interval: 0.1, share: 0.001)
    first = take(allocate(10))
    it.profile(first)
    waits_for(10) { server.got.size == 1 }
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    waits_for(60) { it.profile(take(allocate(10))) && sleep(0.1) && server.got.size == 2 }
    assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - began, :>, 0.3
    assert_equal 2, server.got.map { |got| push(got)["samples"][0]["ID"] }.uniq.size
  end

  test "Retry-After is kept, and a receiver that is down, slow or not trusted delays no other one" do
    answers = ["HTTP/1.1 429 Slow\r\nRetry-After: 2\r\nContent-Length: 0\r\n\r\n"]
    well, times = Receiver.new, []
    limited = Receiver.new { times << Process.clock_gettime(Process::CLOCK_MONOTONIC) && (answers.shift || [200, "{}"]) }
    slow = Receiver.new { sleep }
    key = OpenSSL::PKey::RSA.new(2048)
    certificate = OpenSSL::X509::Certificate.new.tap do |it|
      it.version, it.serial, it.public_key, it.not_before, it.not_after = 2, 1, key, Time.now - 60, Time.now + 600
      it.subject = it.issuer = OpenSSL::X509::Name.parse("/CN=127.0.0.1")
      it.sign(key, "SHA256")
    end
    strange = Receiver.new(tls: OpenSSL::SSL::SSLContext.new.tap { |it| it.cert, it.key = certificate, key })
    ports = [limited, slow, strange, well].map(&:port)
    urls = ["http://127.0.0.1:#{ports[0]}", "http://127.0.0.1:#{ports[1]}", "https://me:hush@127.0.0.1:#{ports[2]}", "http://127.0.0.1:#{free_port}", "http://127.0.0.1:#{ports[3]}"]
    text = said do
      it = sending(*urls.map { |url| "pyroscope+#{url}" }, backoff: 0.01)
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      it.profile(take(allocate(10)))
      waits_for(5) { well.got.any? }
      assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - began, :<, 3
      waits_for(10) { times.size == 2 }
      assert_operator times[1] - times[0], :>=, 2
      waits_for(10) { senders(it)[2].results["failed"].positive? && senders(it)[3].results["failed"].positive? }
      assert_empty strange.got
    end
    assert(text.include?("certificate verify failed") && text.include?("ECONNREFUSED") && !text.include?("hush"), text)
  end

  test "the spool has a limit of bytes and of age: the oldest goes first, and is counted" do
    down = free_port
    said do
      receiver = Tool::AgentReceiver.new("pyroscope+http://127.0.0.1:#{down}", {})
      packed = receiver.pack(Tool::AgentProfile.of(allocate(10)), nil, {"service" => "shop"})
      sender = Tool::AgentSender.new(receiver, bytes_most: packed.bytes * 3)
      5.times { sender.spool(packed.dup) }
      assert_equal [2, 3], [sender.results["expired"], sender.instance_variable_get(:@waiting).size]
      old = Tool::AgentSender.new(receiver, age_most: 0.2)
      old.spool(packed)
      sleep 0.3
      old.spool(packed)
      assert_equal 1, old.results["expired"]
    end
  end

  test "in a spool that is half full profiles are of a longer time, and nothing is dropped" do
    said do
      it = sending("pyroscope+http://127.0.0.1:#{free_port}", interval: 0.1, bytes_most: 60_000)
      takes = Array.new(30) { take(allocate(500)) }
      takes.each { |one| it.profile(one) && sleep(0.1) }
      it.finish(0)
      waiting = senders(it).first.instance_variable_get(:@waiting).map(&:packed)
      assert_equal 0, senders(it).first.results["expired"]
      assert_includes 3..25, waiting.size
      assert_equal totals(takes.last.bytes).first(2), waiting.map { |packed| sums(packed.profiles.first).first(2) }.transpose.map(&:sum)
    end
  end

  test "a profile that is damaged stops nothing, and is named once" do
    server = Receiver.new
    text = said do
      it = sending("pyroscope+http://127.0.0.1:#{server.port}")
      3.times { it.profile(take("garbage", 99)) && sleep(0.1) }
      it.profile(take(allocate(10)))
      waits_for(10) { server.got.any? }
    end
    assert_equal 1, text.lines.grep(/process 99: not sent to receivers/).size, text
  end

  # --- the command ---

  test "heapsample agent sends once --to is given, and counts it in /metrics" do
    server = Receiver.new
    sampled(ALLOCATES, "interval=4k,malloc=off,output=none") do
      agent("--to", "pyroscope+http://127.0.0.1:#{server.port}", "--drop-label", "host") do |one|
        waits_for(30) { server.got.any? }
        page = waits_for(10) { one.get("/metrics").body.then { |text| text if text.match?(/sent_total\{.*result="sent"\} [1-9]/) } }
        assert_includes page, %(ruby_heap_agent_sent_total{to="pyroscope+http://127.0.0.1:#{server.port}",result="failed"} 0)
        refute_includes push(server.got.first)["labels"].map { |label| label["name"] }, "host"
      end
    end
  end

  test "a profile is sent once a minute, and the last one when the agent ends" do
    server = Receiver.new
    it = sending("pyroscope+http://127.0.0.1:#{server.port}", interval: 60)
    takes = Array.new(3) { take(allocate(2000)) }
    takes.each { |one| it.profile(one) && sleep(0.3) }
    assert_equal 1, server.got.size
    it.finish(5)
    assert_equal totals(takes.last.bytes).first(2), server.got.map { |got| sums(pushed(got).first).first(2) }.transpose.map(&:sum)
    assert_equal 2, server.got.size
  end

  {"http://x:4040" => "pyroscope+http://x:4040", "otel" => "OTEL_EXPORTER_OTLP_ENDPOINT is not set", "datadog" => "DD_AGENT_HOST is not set", "pyroscope+http://me:pw@example.com" => "without TLS",
   "pyroscope+http://" => "has no host", "pyroscope+ftp://x" => "not a receiver"}.each do |to, reason|
    test "--to #{to} is refused with what to do" do
      said, status = heapsample("agent", "--to", to, env: %w[OTEL_EXPORTER_OTLP_ENDPOINT DD_TRACE_AGENT_URL DD_AGENT_HOST].to_h { |name| [name, nil] })
      assert_equal [2, 1], [status.exitstatus, said.lines.size], said
      assert_includes said, reason
      refute_includes said, "pw"
    end
  end
end
