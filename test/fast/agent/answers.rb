# frozen_string_literal: true

# Profiles, differences, metrics and pages of real processes.

require_relative "serving"

KEEPS = <<~RUBY
  class Ticket; end
  def keeps(count) = count.times { $kept << Ticket.new }
  $kept = Array.new(2_000_000).clear
  $0 = "puma: cluster worker 3: 17 [shop]"
  Dir.mkdir("\#{ENV["TMPDIR"]}/shop") && Dir.mkdir("\#{ENV["TMPDIR"]}/shop/releases") && Dir.mkdir(at = "\#{ENV["TMPDIR"]}/shop/releases/7") && Dir.chdir(at)
  ready
  while (line = gets)
    line == "exec\n" ? exec(RbConfig.ruby, "--disable=gems", "-e", "$stdout.sync = true; a = Array.new(1000) { Object.new }; puts 'done'; sleep") : keeps(line.to_i)
    puts "done"
  end
RUBY

def sum(profile, column) = profile.table.sum { |row| row[HeapSample::Columns.const_get(column)] }
def raw(body) = File.binwrite("#{OUT}/raw.pb.gz", body) && Open3.capture2e("go", "tool", "pprof", "-raw", "#{OUT}/raw.pb.gz").first
def allocated(profile) = %i[ALLOC_OBJECTS ALLOC_SPACE].map { |column| sum(profile, column) }

def order(process, text)
  process.say(text)
  equal "done\n", process.line
end

# How many major GCs a process has had that does nothing. The agent uses a report for a second.
def major(it, pid)
  sleep 1.1
  JSON.parse(it.get("/memory?pid=#{pid}").body).dig("gc", "major")
end

sampled(KEEPS, "interval=4k,malloc=off,output=none,deploy=v9", ["-rrbconfig"]) do |process|
  agent do |it|
    heap = "/debug/pprof/heap?pid=#{process.pid}"
    delta = "/debug/pprof/delta_heap?pid=#{process.pid}"
    it.get_when("/memory?pid=#{process.pid}")

    test "heap is the profile of the process, as the agent's own type and length" do
      order(process, 50_000)
      answer = it.get(heap)
      equal ["application/octet-stream", answer.body.bytesize.to_s, "nosniff", "no-store"], answer.headers.values_at("content-type", "content-length", "x-content-type-options", "cache-control")
      equal process.pid, answer.profile.info.process_id
    end

    test "gc=1 runs a full GC first, and nothing else does" do
      before = major(it, process.pid)
      %W[#{heap} #{delta} /metrics / /#{process.pid}/report /debug/pprof/allocs?pid=#{process.pid}].each { |path| equal 200, it.get(path).status }
      equal before, major(it, process.pid)
      profile = it.get("#{heap}&gc=1").profile
      assert(profile.rows.select { |row| row.class_name == "Ticket" }.sum { |row| row.inuse.objects }.between?(30_000, 70_000))
      assert(major(it, process.pid) > before)
    end

    test "why=1 adds a heap walk" do
      assert(it.get("#{heap}&why=1").profile.holders)
    end

    test "the deltas add up to what was allocated since sampling started" do
      it.get(delta)
      before = it.get("/debug/pprof/allocs?pid=#{process.pid}").profile
      equal [0, 0], allocated(it.get(delta).profile)
      deltas = [30_000, 0, 120_000].map do |count|
        order(process, count)
        it.get(delta).profile
      end
      after = it.get("/debug/pprof/allocs?pid=#{process.pid}").profile
      equal allocated(after), deltas.map { |one| allocated(one) }.push(allocated(before)).transpose.map(&:sum)
      equal sum(after, :INUSE_SPACE), sum(deltas.last, :INUSE_SPACE)
      assert(sum(deltas.first, :ALLOC_OBJECTS).between?(10_000, 60_000), sum(deltas.first, :ALLOC_OBJECTS).to_s)
    end

    test "delta_heap with seconds= has these seconds alone, and leaves the deltas of others as they are" do
      before, stop = it.get(delta).profile, false
      orders = Thread.new { order(process, 1000) until stop }
      some = it.get("#{delta}&seconds=1").profile
      stop = true
      orders.join
      rest = it.get(delta).profile
      assert(sum(some, :ALLOC_OBJECTS).positive? && sum(some, :ALLOC_OBJECTS) < sum(rest, :ALLOC_OBJECTS))
      [some, rest].each { |one| assert((sum(one, :INUSE_SPACE) - sum(before, :INUSE_SPACE)).positive?) }
      [before, some, rest].each { |one| assert(one.table.all? { |row| %i[ALLOC_OBJECTS ALLOC_SPACE INUSE_OBJECTS INUSE_SPACE].none? { |column| row[HeapSample::Columns.const_get(column)].negative? } }) }
    end

    test "of another agent the first delta is everything" do
      agent("--http", "unix:#{FOLDER}/second.sock") do |other|
        first = other.get_when(delta).profile
        equal sum(it.get(heap).profile, :ALLOC_SPACE), sum(first, :ALLOC_SPACE)
      end
    end

    test "delta_heap and seconds= have Go's four types, and an address for each function and line" do
      stop = false
      orders = Thread.new { order(process, 10_000) until stop }
      bodies = [delta, "#{heap}&seconds=1", "/debug/pprof/allocs?pid=#{process.pid}&seconds=1"].map { |path| it.get(path).body }
      stop = true
      orders.join
      bodies.zip(%w[inuse_space inuse_space alloc_space]).each do |body, first|
        text = raw(body)
        types = %w[alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes]
        equal types.map { |type| type.start_with?(first) ? "#{type}[dflt]" : type }.join(" "), text[%r{^alloc_objects/count.*}].strip
        places = text.scan(/^ +\d+: 0x(\h+) M=1 (.*)$/)
        assert(places.size > 1 && places.map(&:first).uniq.size == places.size && places.none? { |address, _| address.to_i(16).zero? }, text[0, 2000])
      end
      addresses = bodies.map { |body| raw(body).scan(/^ +\d+: 0x(\h+) M=1 (.*keeps.*)$/).sort }
      equal 1, addresses.uniq.size
      changed = HeapSample::Profile.load(StringIO.new(bodies[1]))
      assert(sum(changed, :ALLOC_OBJECTS).positive?)
    end

    # The process writes its own files, in C; the agent computes the addresses of a delta.
    test "an address in a delta is that of the same function and line in a file of the process" do
      written, computed = [heap, delta].map { |path| raw(it.get(path).body).scan(/^ +\d+: 0x(\h+) M=1 (.*)$/).to_h(&:reverse) }
      both = written.keys & computed.keys
      assert(both.size > 3 && both.any? { |place| place.include?("keeps") }, both.inspect)
      equal written.slice(*both), computed.slice(*both)
    end

    test "metrics have labels that survive a restart, in both formats" do
      plain, open = it.get("/metrics"), it.get("/metrics", Accept: "application/openmetrics-text; version=1.0.0")
      labels = "app=\"shop\",worker=\"3\",deploy=\"v9\",pid=\"#{process.pid}\""
      assert(plain.body.include?("ruby_heap_agent_up{#{labels}} 1\n"), plain.body[0, 1000])
      parts = plain.body.scan(/^ruby_memory_bytes\{#{labels},part="\w+"\} (\d+)/).flatten.sum(&:to_i)
      equal plain.body[/^process_resident_memory_bytes\{#{labels}\} (\d+)/, 1].to_i, parts
      assert(open.body.end_with?("# EOF\n") && open.body.include?("# TYPE ruby_gc_runs counter\n") && open.body.include?("# UNIT ruby_memory_bytes bytes\n"))
      equal [true, true], [plain, open].map { |one| one.headers["content-type"].match?(/version=(?:0\.0\.4|1\.0\.0); charset=utf-8/) }
    end

    test "each figure of the socket is a metric" do
      page = it.get("/metrics", Accept: "application/openmetrics-text").body
      memory = JSON.parse(it.get("/memory?pid=#{process.pid}").body)
      lines = page.lines.select { |line| line.include?("pid=\"#{process.pid}\"") }
      names = HeapSample::Tool::AgentMetrics::ALL.keys - ["ruby_heap_agent_ended_processes", *("ruby_memory_proportional_bytes" unless memory["account"]["pss"])]
      equal [], names.reject { |name| lines.any? { |line| line.match?(/\A#{name}(?:_total)?\{/) } }
      value = ->(name, *labels) { lines.find { |line| line.start_with?("#{name}{") && labels.all? { |label| line.include?(label) } }.to_s[/ ([\d.]+)$/, 1].to_f }
      equal memory["gc"].values_at("minor", "major"), %w[minor major].map { |kind| value.call("ruby_gc_runs_total", "kind=\"#{kind}\"").to_i }
      equal memory["heaps"].map { |heap| heap["total_slots"] },
            memory["heaps"].map { |heap| %w[live free].sum { |state| value.call("ruby_heap_slots", "state=\"#{state}\"", "slot_size=\"#{heap["slot_size"]}\"") }.to_i }
      equal memory["sampler"]["samples"], value.call("ruby_heap_sampler_samples_total", 'of="slots"').to_i
      assert((memory["gc"]["last_major_ns"] / 1e9 - value.call("ruby_gc_last_major_timestamp_seconds")).abs < 0.01)
      assert((Time.now.to_f - value.call("process_start_time_seconds")).between?(0, 600) && value.call("process_cpu_seconds_total").positive?, lines.join)
      equal [1, HeapSample::LiveProcess.new(process.pid).hello[:interval]], [value.call("ruby_heap_sampler_running"), value.call("ruby_heap_sampler_interval_bytes", 'of="slots"')].map(&:to_i)
    end

    test "the list links to the page of each process" do
      assert(it.get("/").body.include?(%(<a href="/#{process.pid}/">#{process.pid}</a>)))
      assert(it.get("/#{process.pid}/").body.include?("<h1>Memory of process #{process.pid}</h1>"))
      assert(it.get("/#{process.pid}/report").body.include?("Ticket"))
      equal process.pid, it.get("/#{process.pid}/heap.pb.gz").profile.info.process_id
      equal 303, it.get("/#{process.pid}/growth", method: "POST").status
      assert(it.get("/#{process.pid}/growth").body.start_with?("Process #{process.pid}\n"))
      equal "no-referrer", it.get("/#{process.pid}/report").headers["referrer-policy"]
    end

    test "with several processes pid= is needed, and the answer lists them" do
      sampled("ready; sleep") do |second|
        it.get_when("/memory?pid=#{second.pid}")
        answer = it.get("/debug/pprof/heap")
        assert(answer.status == 400 && [process, second].all? { |one| answer.body.match?(/pid=#{one.pid}\b/) }, answer.to_s)
      end
    end

    test "the delta after exec is everything since, and a process that ended is forgotten" do
      process.say("exec")
      equal "done\n", process.line
      answer = it.get_when(delta).profile
      all = it.get("/debug/pprof/allocs?pid=#{process.pid}").profile
      equal sum(all, :ALLOC_OBJECTS), sum(answer, :ALLOC_OBJECTS)
      Process.kill(:KILL, process.pid)
      equal 404, it.get_when(delta, 404).status
    end

    # Processes of other suites end, too.
    test "the metrics count how processes have ended, and stderr names each that said no goodbye" do
      ended = -> { it.get("/metrics").body.scan(/^ruby_heap_agent_ended_processes_total\{goodbye="(\w+)"\} (\d+)$/).to_h.transform_values(&:to_i) }
      before = ended.call
      pids = %w[TERM KILL].map do |signal|
        sampled("ready; sleep") do |one|
          it.get_when("/memory?pid=#{one.pid}")
          Process.kill(signal, one.pid)
          equal 404, it.get_when("/memory?pid=#{one.pid}", 404).status
          one.pid
        end
      end
      counted = waits_for(DEADLINE) { ended.call.then { |now| now if now["false"] > before["false"] } }
      assert(counted["true"] > before["true"], counted.inspect)
      killed = it.rest.map { |line| line[KILLED, 1].to_i }
      equal [0, 1, 1], [killed.count(pids.first), killed.count(pids.last), killed.count(process.pid)]
      assert(!File.exist?(it.to))
    end
  end
end

test "with --diagnose the agent's own answers run GCs, in a share of the run time" do
  sampled("ready; sleep 0.01 while true") do |process|
    {"50%" => true, "0.001%" => false}.each do |share, runs|
      agent("--diagnose", share) do |it|
        it.get_when("/memory?pid=#{process.pid}")
        before = major(it, process.pid)
        2.times { equal 200, it.get("/debug/pprof/delta_heap?pid=#{process.pid}").status }
        equal runs, major(it, process.pid) > before
      end
    end
  end
end

# One process alone: no list of processes of this machine is asked for it.
test "with one process pid= may be left out; with none the answer says what to do" do
  processes = HeapSample::Tool::AgentProcesses.new(nil)
  list = []
  processes.define_singleton_method(:all) { list }
  raises(HeapSample::Tool::AgentRefusal, /Start Ruby with --heap-sample/) { processes.one(nil) }
  list << HeapSample::Tool::AgentProcess.new(4711, nil)
  equal [4711, 4711], [processes.one(nil).pid, processes.one(4711).pid]
  raises(HeapSample::Tool::AgentRefusal, /No process 4712 can be asked. There are pid=4711/) { processes.one(4712) }
end

Tap.finish
