# frozen_string_literal: true

# What one process answers, whatever its Ruby code does.

require "zlib"
require "open3"
require "tempfile"
require_relative "serving"

def objects(profile, name) = profile.rows.sum { |row| row.class_name == name ? row.inuse.objects + row.young.objects : 0 }

# The same in the difference of two profiles, which has values below zero: go tool pprof reads them.
def difference(answer, name)
  Tempfile.create("difference") do |file|
    file.binmode
    file.write(answer.body)
    file.flush
    raw, = Open3.capture2({"HOME" => OUT, "PPROF_TMPDIR" => OUT}, "go", "tool", "pprof", "-raw", file.path, err: File::NULL)
    types = raw[/^Samples:\n(.*)$/, 1].split.map { |type| type[/\w+/] }
    wanted = %w[inuse_objects young_objects].map { |type| types.index(type) }
    raw.scan(/^((?: +-?\d+)+): .*\n +class:\[#{name}\]/).sum { |(values)| values.split.values_at(*wanted).sum(&:to_i) }
  end
end

# 50,000 objects of 40 bytes are 1,860 samples at 1 KiB, with an error of 2.3%.
KEEPS = "Kept = Class.new; $kept = Array.new(50_000) { Kept.new }; ready; sleep"

serving(KEEPS, settings: "interval=1k,output=none") do |it|
  test "/debug/pprof/heap is a gzip'ed pprof, with the headers of Go's" do
    answer = it.get("/debug/pprof/heap")
    equal [200, "application/octet-stream", "nosniff", 'attachment; filename="heap"', answer.body.bytesize.to_s],
          [answer.status, *answer.headers.values_at("content-type", "x-content-type-options", "content-disposition", "content-length")]
    equal "\x1f\x8b".b, answer.body[0, 2]
    close 50_000, objects(answer.profile, "Kept"), 0.2
  end
  test "HEAD has the head alone" do
    answer = it.get("/debug/pprof/heap", method: "HEAD")
    equal [200, "", true], [answer.status, answer.body, answer.headers["content-length"].to_i > 1000]
  end
  test "heap and allocs differ in what is shown first" do
    types = %w[heap allocs].map { |name| Zlib.gunzip(it.get("/debug/pprof/#{name}").body) }
    assert(types.first != types.last)
  end
  test "the index has links to all of it" do
    answer = it.get("/")
    equal [200, true], [answer.status, answer.headers["content-type"].start_with?("text/html")]
    assert(["/metrics", "/debug/pprof/heap?pid=#{it.pid}", "/debug/pprof/allocs?pid=#{it.pid}"].all? { |link| answer.body.include?("\"#{link}\"") }, answer.body)
    equal answer.body, it.get("/debug/pprof/").body
  end
  test "cmdline is the command line" do
    equal File.binread("/proc/#{it.pid}/cmdline").chomp("\0"), it.get("/debug/pprof/cmdline").body
  end
  test "metrics: the parts of the memory add up to what is resident" do
    answer = it.get("/metrics", Accept: "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5")
    equal "application/openmetrics-text; version=1.0.0; charset=utf-8", answer.headers["content-type"]
    assert(answer.body.end_with?("# EOF\n"))
    of = samples(answer.body)
    rss = of.fetch("process_resident_memory_bytes{pid=\"#{it.pid}\"}")
    equal rss, of.sum { |name, value| name.start_with?("ruby_memory_bytes{") ? value : 0 }
    close it.rss, rss, 0.1
    close Time.now.to_f, of.fetch("process_start_time_seconds{pid=\"#{it.pid}\"}"), 60 / Time.now.to_f
    equal [1.0, 1024.0], of.values_at("ruby_heap_sampler_running{pid=\"#{it.pid}\"}", "ruby_heap_sampler_interval_bytes{pid=\"#{it.pid}\",of=\"slots\"}")
  end
  test "metrics: who does not know OpenMetrics gets the older format" do
    equal "text/plain; version=0.0.4; charset=utf-8", it.get("/metrics").headers["content-type"]
  end
  test "what there is not, is refused with its status and a sentence" do
    equal [404, 405, 400, 400, 404], [it.get("/debug/pprof/goroutine"), it.get("/metrics", method: "POST"), it.get("/debug/pprof/heap?seconds=x"),
                                      ask(it.to, "nonsense\r\n\r\n"), it.get("/debug/pprof/heap?pid=1")].map(&:status)
    assert(it.get("/debug/pprof/goroutine").body.include?("/debug/pprof/allocs"))
  end
  test "Host must be no name that somebody made up, and no page of another site may ask" do
    equal [403, 403, 200], [it.get("/metrics", Host: "evil.example"), it.get("/metrics", "Sec-Fetch-Site": "cross-site"), it.get("/metrics", Host: "127.0.0.1:#{it.to}")].map(&:status)
  end
  test "a thousand scrapes leak no descriptor and no memory" do
    paths = ["/metrics", "/debug/pprof/heap", "/", "/debug/pprof/allocs"]
    200.times { |i| it.get(paths[i % 4]) }
    sleep 0.1
    files, before = it.files, it.rss
    took = seconds { 1000.times { |i| flunk("no answer") unless it.get(paths[i % 4]).status == 200 } }
    waits_for(60) { it.files <= files }
    grown = it.rss - before
    puts "# #{(took).round(2)} ms each, #{grown >> 10} KiB grown"
    assert(grown < 2 << 20, "#{grown} bytes")
  end
end

keeps_more = 'Kept = Class.new; $kept = []; ready; while (line = $stdin.gets); line == "drop\n" ? $kept.clear : $kept.concat(Array.new(line.to_i) { Kept.new }); ready; end'
serving(keeps_more, settings: "interval=512,output=none") do |it|
  say = lambda do |line|
    it.io.puts(line)
    it.io.gets
  end
  test "seconds= is the second less the first" do
    say.call("20000")
    asked = %w[heap?gc=1& allocs?].map { |what| Thread.new { it.get("/debug/pprof/#{what}seconds=3") } }
    sleep 1
    say.call("10000")
    live, profile = asked.map(&:value)
    # 10,000 objects are 750 samples, with an error of 3.5%.
    close 10_000, difference(live, "Kept"), 0.4
    equal 'attachment; filename="allocs-delta"', profile.headers["content-disposition"]
  end
  test "what went is less than nothing" do
    asked = Thread.new { it.get("/debug/pprof/heap?seconds=3&gc=1") }
    sleep 1
    say.call("drop")
    close(-30_000, difference(asked.value, "Kept"), 0.3)
  end
  test "gc=1 runs a full GC first" do
    it.get("/debug/pprof/heap")
    counted = it.get("/metrics").body[/kind="major"} (\d+)/, 1].to_i
    close 0, objects(it.get("/debug/pprof/heap?gc=1").profile, "Kept"), 1500
    assert(it.get("/metrics").body[/kind="major"} (\d+)/, 1].to_i > counted)
  end
  test "whoever goes before its seconds are over is forgotten" do
    sleep 0.2
    files = it.files
    guests = Array.new(6) { connect(it.to).tap { |guest| guest.write("GET /debug/pprof/heap?seconds=300 HTTP/1.0\r\n\r\n") } }
    equal 503, parsed(guests.last.read).status
    guests.each(&:close)
    waits_for(60) { it.files <= files }
  end
end

held = <<~RUBY
  require "fiddle"
  usleep = Fiddle::Function.new(Fiddle::Handle::DEFAULT["usleep"], [Fiddle::TYPE_INT], Fiddle::TYPE_INT, need_gvl: true)
  $kept = Array.new(50_000) { Object.new }
  ready
  usleep.call(120_000_000)
RUBY
if system(RbConfig.ruby, "--disable-gems", "-rfiddle", "-e", "", err: File::NULL)
  serving(held) do |it|
    sleep 0.1
    # On a busy machine one of many does.
    test "while C code holds the GVL, a profile and metrics take less than 100 ms" do
      times = %w[/debug/pprof/heap /metrics].to_h { |path| [path, 100.times.lazy.map { seconds { equal 200, it.get(path).status } }.find { |time| time < 0.1 }] }
      puts "# #{times.transform_values { |time| time && (time * 1000).round(1) }} ms"
      assert(times.values.all?, "100 took longer")
    end
    test "and gc=1 says that there was no safe point" do
      answer = it.get("/debug/pprof/heap?gc=1")
      assert(answer.status == 503 && answer.body.include?("safe point within 5 s"), answer.to_a.inspect)
    end
  end
else
  Tap.skip("while C code holds the GVL", "no fiddle")
end

opens = <<~RUBY
  GC::SampleProfile.start(http: "127.0.0.1:0")
  sleep 0.01 until GC::SampleProfile.stat[:http]
  ready
  puts GC::SampleProfile.stat[:http]
  gets
  GC::SampleProfile.start(http: "off")
  ready
  sleep
RUBY
serving(opens, http: nil, settings: "output=none") do |it|
  test "GC::SampleProfile.start opens it, at a port that the kernel chose, and closes it" do
    port = it.io.gets[/:(\d+)$/, 1].to_i
    equal 200, get(port, "/metrics").status
    it.io.puts
    it.io.gets
    waits_for(60) { !listens?(port) }
  end
end

Dir.mktmpdir("u", "/tmp") do |folder|
  path = "#{folder}/http.sock"
  serving("ready; gets", http: path) do |it|
    test "a Unix socket is open to the user alone" do
      equal [200, 0o600], [it.get("/metrics", Host: "app.example").status, File.stat(path).mode & 0o777]
    end
    test "and goes with the process" do
      it.io.puts
      it.io.read
      assert(!File.exist?(path))
    end
  end
  serving("ready; sleep", http: path) do |it|
    Process.kill(:KILL, it.pid)
    waits_for(60) { !listens?(path) }
  end
  serving("ready; sleep", http: path) { test("one that a killed process left is replaced") { equal 200, get(path, "/").status } }
end

serving("ready; sleep", settings: "interval=4k,output=none,socket=off") do |it|
  test "with socket=off HTTP answers all the same" do
    equal [200, []], [it.get("/metrics").status, Dir.glob("#{it.folder}/ruby-heap-*/*.sock")]
  end
end

Tap.finish
