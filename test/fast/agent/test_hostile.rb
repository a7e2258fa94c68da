# frozen_string_literal: true

# Processes that answer in place of a Ruby, and are hostile: none delays the answers for others, and nothing that they send
# becomes a header, HTML or a metric of its own.

require_relative "serving"

class HostileTest < AgentTest
  NAMED = {process_id: 1, taken_ns: 2, sampling: false, ruby: "\"} 1\nevil 1", deploy: "x\"} 2\n# EOF",
           title: "<script>alert(1)</script>\r\nSet-Cookie: a=b\e[2J", directory: "/srv/a\"b\\\n/current"}.freeze
  MEMORY = {account: {rss: 4096, slots_live: 4096, jemalloc: {allocated: -1, active: "x"}, evil: "\"\n"}, alive: {threads: {count: 1, sleeping: 1}}, gc: {minor: -5, major: 2},
            heaps: [{slot_size: "40\"} 1", total_slots: 9, live_slots: 1}, {slot_size: 80, total_slots: 9, live_slots: 10}, 7],
            sampler: {bytes: -1, samples: "x", live_samples: 5}, other: "<b>"}.freeze

  KINDS = {
    "garbage" => "io.write(Random.bytes(100_000))",
    "a length that is too long" => "io.write(frame('x', 1000, type: 'pb.gz'))",
    "a wrong protocol" => "io.write(\"HTTP/1.1 200 OK\\r\\n\\r\\n\")",
    "too much" => "io.write(frame('', 9_999_999_999, type: 'pb.gz')); loop { io.write('x' * 100_000) }",
    "an endless line" => "loop { io.write('x' * 1000) }",
    "nothing at all" => "nil",
    "HTML as a profile" => "io.write(frame('<script>alert(1)</script>', type: 'pb.gz'))",
    "a header in its type" => "io.write(\"heap-sample/1 ok x\\r\\nSet-Cookie:a=b 1\\nx\")",
  }.freeze

  shared(:good) { |share| sampled(SLEEPS) { |process| share.call(process) } }
  shared(:server) do |share|
    tcp_agent do |server|
      server.invitation
      server.get_when("/memory?pid=#{good.pid}", **BEARER)
      share.call(server)
    end
  end

  def refused(pid, path = "/debug/pprof/heap") = server.get_when("#{path}?pid=#{pid}", 502, **BEARER)

  KINDS.each do |what, body|
    test "#{what} is a refusal of one line, for profiles, deltas and memory" do
      fake(body) do |process|
        %w[/debug/pprof/heap /debug/pprof/allocs /debug/pprof/delta_heap /memory].each do |path|
          answer = refused(process.pid, path)
          assert_equal ["text/plain; charset=utf-8", 1, nil], [answer.headers["content-type"], answer.body.lines.size, answer.headers["set-cookie"]]
        end
        assert_equal 502, server.get("/#{process.pid}/report", **BEARER).status
      end
    end
  end

  test "a gzip of gigabytes, or of another file, is a refusal" do
    {"bomb" => "\0" * (200 << 20), "other" => "{}"}.each do |name, content|
      File.binwrite("#{FOLDER}/#{name}", Zlib.gzip(content, level: 1))
      fake("io.write(frame(File.binread(#{"#{FOLDER}/#{name}".dump}), type: 'pb.gz'))") { |process| refused(process.pid, "/debug/pprof/delta_heap") }
    end
  end

  test "names that a process chooses are text in HTML, and labels in metrics" do
    fake("io.write(frame(line.include?('hello') ? #{JSON.generate(NAMED).dump} : #{JSON.generate(MEMORY).dump}))") do |process|
      server.get_when("/memory?pid=#{process.pid}", **BEARER)
      list = server.get("/", **BEARER)
      assert(list.body.include?("&lt;script&gt;alert(1)&lt;/script&gt;\\r\\nSet-Cookie: a=b\\e[2J") && !list.body.include?("<script"), list.body)
      assert(!list.headers.key?("set-cookie"))
      lines = server.get("/metrics", **BEARER).body.lines.grep(/pid="#{process.pid}"/)
      assert(lines.all? { |line| line.match?(/\A\w+\{(?:\w+="(?:[^"\\]|\\.)*",?)+\} [\d.]+\n\z/) }, lines.join)
      assert_equal ["live 10", "free 0"], lines.filter_map { |line| line[/^ruby_heap_slots\{.*state="(\w+)",slot_size="80"\} \d+$/, 1]&.then { |state| "#{state} #{line.split.last}" } }
      assert(lines.none? { |line| line.match?(/jemalloc|kind="minor"|sampler_memory|slot_size="40|sampler_samples/) } && lines.any? { |line| line.include?('kind="major"} 2') }, lines.join)
      memory = JSON.parse(server.get("/memory?pid=#{process.pid}", **BEARER).body)
      assert_equal %w[account alive gc heaps sampler], memory.keys.sort
      said, status = Open3.capture2e("promtool", "check", "metrics", stdin_data: server.get("/metrics", **BEARER).body)
      assert(status.success?, said)
    end
  end

  test "processes that never answer delay no other answer, and the metrics name them" do
    fake("sleep") do |one|
      fake("loop { io.write('h'); sleep 1 }") do |other|
        waits_for(DEADLINE) { server.get("/", **BEARER).body.then { |body| [one, other].all? { |process| body.include?("/#{process.pid}/") } } }
        requests = [one, other].flat_map { |process| [request("/debug/pprof/heap?pid=#{process.pid}", **BEARER)] * 20 }
        waiting = requests.map { |text| connect(server.to).tap { |socket| socket.write(text) } }
        5.times { assert_equal 200, server.get("/debug/pprof/heap?pid=#{good.pid}", **BEARER).status }
        # On a busy machine the good one may not report within 2 s, each time.
        up = waits_for(DEADLINE) do
          all = server.get("/metrics", **BEARER).body.scan(/^ruby_heap_agent_up\{.*pid="(\d+)"\} (\d)$/).to_h
          all if all[good.pid.to_s] == "1"
        end
        assert_equal %w[1 0 0], up.values_at(*[good, one, other].map { |process| process.pid.to_s })
        # Of 20 for each process 8 wait, and the others are refused at once.
        refused = waits_for(DEADLINE) { waiting.select { |socket| socket.wait_readable(0) }.then { |ready| ready if ready.size >= 24 } }
        assert_equal [503], refused.map { |socket| answered(socket).status }.uniq
        Process.kill(:KILL, -one.pid)
        Process.kill(:KILL, -other.pid)
        assert_equal [502], (waiting - refused).map { |socket| answered(socket).status }.uniq
        waiting.each(&:close)
      end
    end
  end
end
