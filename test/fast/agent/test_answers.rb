# frozen_string_literal: true

# Profiles, differences, metrics and pages of real processes.

require_relative "serving"

class AnswersTest < AgentTest
  KEEPS = <<~RUBY
    class Ticket; end
    def keeps(count) = count.times { $kept << Ticket.new }
    $kept = Array.new(2_000_000).clear
    $0 = "puma: cluster worker 3: 17 [shop]"
    require "fileutils"
    Dir.chdir(FileUtils.mkdir_p("\#{ENV["TMPDIR"]}/shop/releases/7").first)
    ready
    while (line = gets)
      line == "exec\n" ? exec(RbConfig.ruby, "--disable=gems", "-e", "$stdout.sync = true; a = Array.new(1000) { Object.new }; puts 'done'; sleep") : keeps(line.to_i)
      puts "done"
    end
  RUBY

  shared(:server) { |share| agent { |server| share.call(server) } }
  shared(:process) { |share| shop { |process| share.call(process) } }

  def shop
    sampled(KEEPS, "interval=4k,malloc=off,output=none,deploy=v9", ["-rrbconfig"]) do |process|
      server.get_when("/memory?pid=#{process.pid}")
      yield process
    end
  end

  def heap(of = process) = "/debug/pprof/heap?pid=#{of.pid}"
  def delta(of = process) = "/debug/pprof/delta_heap?pid=#{of.pid}"
  def allocs(of = process) = "/debug/pprof/allocs?pid=#{of.pid}"

  def sum(profile, column) = profile.table.sum { |row| row[HeapSample::Columns.const_get(column)] }
  def allocated(profile) = %i[ALLOC_OBJECTS ALLOC_SPACE].map { |column| sum(profile, column) }
  def tickets(profile) = profile.rows.select { |row| row.class_name == "Ticket" }.sum { |row| row.inuse.objects }
  def raw(body) = File.binwrite("#{OUT}/raw.pb.gz", body) && Open3.capture2e("go", "tool", "pprof", "-raw", "#{OUT}/raw.pb.gz").first

  def order(process, text)
    process.say(text)
    assert_equal "done\n", process.line
  end

  # Orders tickets during the block.
  def ordering(count)
    stop = false
    shop = process
    orders = Thread.new { order(shop, count) until stop }
    yield
  ensure
    stop = true
    orders.join
  end

  # How many major GCs a process has had that does nothing. The agent uses a report for a second.
  def major(server, pid)
    sleep 1.1
    JSON.parse(server.get("/memory?pid=#{pid}").body).dig("gc", "major")
  end

  test "heap is the profile of the process, with the agent's own type and length" do
    answer = server.get(heap)
    assert_equal ["application/octet-stream", answer.body.bytesize.to_s, "nosniff", "no-store"], answer.headers.values_at("content-type", "content-length", "x-content-type-options", "cache-control")
    assert_equal process.pid, answer.profile.info.process_id
  end

  # GCs and walks have a share of the run time, so these two tests have a process of their own, with a small heap.
  test "gc=1 runs a full GC first, and nothing else runs one" do
    shop do |it|
      before = major(server, it.pid)
      kept = tickets(server.get("#{heap(it)}&gc=1").profile)
      order(it, 50_000)
      after = major(server, it.pid)
      assert_operator after, :>, before
      %W[#{heap(it)} #{delta(it)} /metrics / /#{it.pid}/report #{allocs(it)}].each { |path| assert_equal 200, server.get(path).status }
      assert_equal after, major(server, it.pid)
      assert_in_delta 50_000, tickets(server.get("#{heap(it)}&gc=1").profile) - kept, 20_000
      assert_operator major(server, it.pid), :>, after
    end
  end

  test "why=1 adds a heap walk" do
    shop { |it| assert server.get("#{heap(it)}&why=1").profile.holders }
  end

  test "the deltas add up to what was allocated since sampling started" do
    server.get(delta)
    before = server.get(allocs).profile
    assert_equal [0, 0], allocated(server.get(delta).profile)
    deltas = [30_000, 0, 120_000].map do |count|
      order(process, count)
      server.get(delta).profile
    end
    after = server.get(allocs).profile
    assert_equal allocated(after), deltas.map { |one| allocated(one) }.push(allocated(before)).transpose.map(&:sum)
    assert_equal sum(after, :INUSE_SPACE), sum(deltas.last, :INUSE_SPACE)
    assert_in_delta 30_000, sum(deltas.first, :ALLOC_OBJECTS), 20_000
  end

  test "delta_heap with seconds= has the allocations of these seconds alone, and does not change the next delta" do
    order(process, 1_000_000)
    server.get("#{heap}&gc=1")
    before = server.get(delta).profile
    some = ordering(1000) { server.get("#{delta}&seconds=1").profile }
    rest = server.get(delta).profile
    all = server.get(heap).profile
    assert_includes 1...sum(rest, :ALLOC_OBJECTS), sum(some, :ALLOC_OBJECTS)
    # All live memory, and no difference, which would be near 0. GCs free garbage and count older objects as live meanwhile.
    assert_operator sum(some, :INUSE_SPACE), :>, sum(before, :INUSE_SPACE) / 2
    assert_equal sum(all, :INUSE_SPACE), sum(rest, :INUSE_SPACE)
    [before, some, rest].each { |one| assert(one.table.all? { |row| %i[ALLOC_OBJECTS ALLOC_SPACE INUSE_OBJECTS INUSE_SPACE].none? { |column| row[HeapSample::Columns.const_get(column)].negative? } }) }
  end

  test "the first delta of another agent has everything" do
    agent do |other|
      first = other.get_when(delta).profile
      assert_equal sum(server.get(heap).profile, :ALLOC_SPACE), sum(first, :ALLOC_SPACE)
    end
  end

  # What was allocated in a second need not be all lines, and on a busy machine it may be none.
  def of_some_seconds
    bodies = ordering(10_000) { [delta, "#{heap}&seconds=1", "#{allocs}&seconds=1"].map { |path| server.get(path).body } }
    keeps = bodies.map { |body| raw(body).scan(/^ +\d+: 0x(\h+) M=1 (.*keeps.*)$/).to_h(&:reverse) }
    [bodies, keeps] if keeps.map(&:keys).inject(:&).any?
  end

  test "delta_heap and seconds= have Go's four types, and an address for each function and line" do
    bodies, keeps = waits_for(60) { of_some_seconds }
    bodies.zip(%w[inuse_space inuse_space alloc_space]).each do |body, first|
      text = raw(body)
      types = %w[alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes]
      assert_equal types.map { |type| type.start_with?(first) ? "#{type}[dflt]" : type }.join(" "), text[%r{^alloc_objects/count.*}].strip
      places = text.scan(/^ +\d+: 0x(\h+) M=1 (.*)$/)
      assert(places.size > 1 && places.map(&:first).uniq.size == places.size && places.none? { |address, _| address.to_i(16).zero? }, text[0, 2000])
    end
    common = keeps.map(&:keys).inject(:&)
    common.each { |place| assert_equal 1, keeps.map { |one| one[place] }.uniq.size, place }
    assert_predicate sum(HeapSample::Profile.load(StringIO.new(bodies[1])), :ALLOC_OBJECTS), :positive?
  end

  # The process writes its own files, in C; the agent computes the addresses of a delta.
  test "an address in a delta is the address of the same function and line in a file of the process" do
    order(process, 10_000)
    written, computed = [heap, delta].map { |path| raw(server.get(path).body).scan(/^ +\d+: 0x(\h+) M=1 (.*)$/).to_h(&:reverse) }
    both = written.keys & computed.keys
    assert(both.size > 3 && both.any? { |place| place.include?("keeps") }, both.inspect)
    assert_equal written.slice(*both), computed.slice(*both)
  end

  test "metrics have labels that survive a restart, in both formats" do
    labels = "app=\"shop\",worker=\"3\",deploy=\"v9\",pid=\"#{process.pid}\""
    plain, open = server.get("/metrics"), server.get("/metrics", Accept: "application/openmetrics-text; version=1.0.0")
    assert_includes plain.body, "ruby_heap_agent_up{#{labels}} 1\n"
    parts = plain.body.scan(/^ruby_memory_bytes\{#{labels},part="\w+"\} (\d+)/).flatten.sum(&:to_i)
    assert_equal plain.body[/^process_resident_memory_bytes\{#{labels}\} (\d+)/, 1].to_i, parts
    assert(open.body.end_with?("# EOF\n") && open.body.include?("# TYPE ruby_gc_runs counter\n") && open.body.include?("# UNIT ruby_memory_bytes bytes\n"))
    assert_equal [true, true], [plain, open].map { |one| one.headers["content-type"].match?(/version=(?:0\.0\.4|1\.0\.0); charset=utf-8/) }
  end

  test "each figure of the socket is a metric" do
    server.get("#{heap}&gc=1")
    sleep 1.1         # the agent uses a report for a second
    page = server.get("/metrics", Accept: "application/openmetrics-text").body
    memory = JSON.parse(server.get("/memory?pid=#{process.pid}").body)
    lines = page.lines.select { |line| line.include?("pid=\"#{process.pid}\"") }
    others = %w[ruby_heap_agent_ended_processes ruby_heap_agent_sent ruby_heap_leak ruby_heap_seconds_to_limit]
    names = HeapSample::Tool::AgentMetrics::ALL.keys - [*others, *("ruby_memory_proportional_bytes" unless memory["account"]["pss"])]
    assert_empty(names.reject { |name| lines.any? { |line| line.match?(/\A#{name}(?:_total)?\{/) } })
    value = ->(name, *labels) { lines.find { |line| line.start_with?("#{name}{") && labels.all? { |label| line.include?(label) } }.to_s[/ ([\d.]+)$/, 1].to_f }
    assert_equal memory["gc"].values_at("minor", "major"), %w[minor major].map { |kind| value.call("ruby_gc_runs_total", "kind=\"#{kind}\"").to_i }
    assert_equal memory["heaps"].map { |heap| heap["total_slots"] },
                 memory["heaps"].map { |heap| %w[live free].sum { |state| value.call("ruby_heap_slots", "state=\"#{state}\"", "slot_size=\"#{heap["slot_size"]}\"") }.to_i }
    assert_equal memory["sampler"]["samples"], value.call("ruby_heap_sampler_samples_total", 'of="slots"').to_i
    assert_in_delta memory["gc"]["last_major_ns"] / 1e9, value.call("ruby_gc_last_major_timestamp_seconds"), 0.01
    assert((Time.now.to_f - value.call("process_start_time_seconds")).between?(0, 600) && value.call("process_cpu_seconds_total").positive?, lines.join)
    assert_equal [1, HeapSample::LiveProcess.new(process.pid).hello[:interval]], [value.call("ruby_heap_sampler_running"), value.call("ruby_heap_sampler_interval_bytes", 'of="slots"')].map(&:to_i)
  end

  test "the list links to the page of each process" do
    order(process, 10_000)
    assert_includes server.get("/").body, %(<a href="/#{process.pid}/">#{process.pid}</a>)
    assert_includes server.get("/#{process.pid}/").body, "<h1>Memory of process #{process.pid}</h1>"
    report = server.get("/#{process.pid}/report")
    assert_includes report.body, "Ticket"
    assert_equal "no-referrer", report.headers["referrer-policy"]
    assert_equal process.pid, server.get("/#{process.pid}/heap.pb.gz").profile.info.process_id
    assert_equal 303, server.get("/#{process.pid}/growth", method: "POST").status
    assert_operator server.get("/#{process.pid}/growth").body, :start_with?, "Process #{process.pid}\n"
  end

  test "with several processes pid= is needed, and the answer lists them" do
    sampled(SLEEPS) do |second|
      [process, second].each { |one| server.get_when("/memory?pid=#{one.pid}") }
      answer = server.get("/debug/pprof/heap")
      assert(answer.status == 400 && [process, second].all? { |one| answer.body.match?(/pid=#{one.pid}\b/) }, answer.to_s)
    end
  end

  # One process alone: no list of processes of this machine is asked for it.
  test "with one process pid= may be left out; without any the answer says what to do" do
    processes = HeapSample::Tool::AgentProcesses.new(nil)
    list = []
    processes.define_singleton_method(:all) { list }
    assert_error(HeapSample::Tool::AgentRefusal, /Start Ruby with --heap-sample/) { processes.one(nil) }
    list << HeapSample::Tool::AgentProcess.new(4711, "1", nil)
    assert_equal [4711, 4711], [processes.one(nil).pid, processes.one(4711).pid]
    assert_error(HeapSample::Tool::AgentRefusal, /No process 4712 can be asked. There are pid=4711/) { processes.one(4712) }
  end

  test "the delta after exec is everything since, and a process that ended is forgotten" do
    shop do |process|
      path = delta.sub(/\d+\z/, process.pid.to_s)
      server.get(path)
      process.say("exec")
      assert_equal "done\n", process.line
      answer = server.get_when(path).profile
      assert_equal sum(server.get(path.sub("delta_heap", "allocs")).profile, :ALLOC_OBJECTS), sum(answer, :ALLOC_OBJECTS)
      Process.kill(:KILL, process.pid)
      assert_equal 404, server.get_when(path, 404).status
    end
  end

  # Processes of other suites end, too.
  test "the metrics count how processes have ended, and stderr names each that was killed" do
    ended = -> { server.get("/metrics").body.scan(/^ruby_heap_agent_ended_processes_total\{normal="(\w+)"\} (\d+)$/).to_h.transform_values(&:to_i) }
    before = ended.call
    pids = %w[TERM KILL].map do |signal|
      sampled(SLEEPS) do |one|
        server.get_when("/memory?pid=#{one.pid}")
        Process.kill(signal, one.pid)
        assert_equal 404, server.get_when("/memory?pid=#{one.pid}", 404).status
        one.pid
      end
    end
    counted = waits_for(DEADLINE) { ended.call.then { |now| now if now["false"] > before["false"] } }
    assert_operator counted["true"], :>, before["true"]
    assert_equal [0, 1], pids.map { |pid| server.killed.count(pid) }
  end

  test "an agent that ends removes its socket" do
    agent do |one|
      Process.kill(:TERM, one.process.pid)
      one.process.io.read
      refute File.exist?(one.to)
    end
  end

  test "with --diagnose the agent's own answers run GCs, in a share of the run time" do
    sampled("ready; sleep 0.01 while true") do |process|
      {"50%" => true, "0.001%" => false}.each do |share, runs|
        agent("--diagnose", share) do |one|
          one.get_when("/memory?pid=#{process.pid}")
          before = major(one, process.pid)
          2.times { assert_equal 200, one.get("/debug/pprof/delta_heap?pid=#{process.pid}").status }
          assert_equal runs, major(one, process.pid) > before
        end
      end
    end
  end
end
