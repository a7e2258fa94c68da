# frozen_string_literal: true

# Programs that hold the GVL, fork and exec, and clients that come in hundreds or do not read.

require_relative "serving"

class BusyTest < AgentTest
  # C code that keeps the GVL until a byte comes on the standard input.
  HOLDS = <<~RUBY
    require "fiddle"
    READ = Fiddle::Function.new(Fiddle::Handle::DEFAULT["read"], [Fiddle::TYPE_INT, Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T], Fiddle::TYPE_SSIZE_T, need_gvl: true)
    ready
    puts "holding"
    nil until READ.call(0, "x" * 8, 1) == 1
    puts "released"
    sleep
  RUBY
  # Children that come and go, and programs that replace others.
  FORKS = <<~RUBY
    ready
    loop do
      pids = Array.new(3) { |i| fork { Array.new(1000) { Object.new }; i == 1 ? exec(RbConfig.ruby, "--disable=gems", "-e", "Array.new(1000) { Object.new }") : exit!(0) } }
      pids.each { |pid| Process.wait(pid) }
    end
  RUBY

  shared(:server) { |share| agent { |server| share.call(server) } }

  test "while C code holds the GVL for 10 s every request is answered, and gc=1 with the reason why it cannot run" do
    sampled(HOLDS) do |process|
      assert_equal "holding\n", process.line
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      server.get_when("/memory?pid=#{process.pid}")
      heap = "/debug/pprof/heap?pid=#{process.pid}"
      paths = [heap, heap.sub("heap?", "allocs?"), heap.sub("heap?", "delta_heap?"), "#{heap}&seconds=1", "/metrics", "/#{process.pid}/report"]
      assert_equal [200] * 6, paths.map { |path| server.get(path).status }
      # A process has 2 s to report, and may not run in that time on a busy machine.
      assert(waits_for(DEADLINE) { server.get("/metrics").body.match?(/^ruby_heap_agent_up\{.*pid="#{process.pid}"\} 1$/) })
      answer = server.get("#{heap}&gc=1")
      assert(answer.status == 503 && answer.body.include?("safe point"), answer.to_s)
      sleep [began + 10 - Process.clock_gettime(Process::CLOCK_MONOTONIC), 0].max
      assert_nil process.io.wait_readable(0)
      assert_equal 200, server.get(heap).status
      process.say
      assert_equal "released\n", process.line
    end
  end

  # Yields a path; the agent has as many files open afterwards as before.
  def with_files_as_before
    sampled(SLEEPS) do |process|
      heap = "/debug/pprof/heap?pid=#{process.pid}"
      server.get_when(heap)
      files = server.files
      yield heap
      assert_equal 200, server.get_when(heap).status
      assert(waits_for(DEADLINE) { server.files <= files + 2 })       # threads of Puma may have one more each for a moment
    end
  end

  test "each of 200 clients at once is answered, or is asked to try again, and then others are answered" do
    with_files_as_before do |heap|
      guests = Array.new(200) { connect(server.to) }
      guests.each { |guest| guest.write(request(heap)) }
      statuses = guests.map { |guest| answered(guest).status }
      guests.each(&:close)
      assert(statuses.include?(200) && (statuses - [200, 503]).empty?, statuses.tally.inspect)
    end
  end

  test "clients that send half a request, or read nothing, delay no other client" do
    with_files_as_before do |heap|
      half = Array.new(100) { connect(server.to).tap { |guest| guest.write("GET /metrics HTTP/1.1\r\nHost:") } }
      stalled = Array.new(8) { connect(server.to).tap { |guest| guest.write(request("/#{heap[/\d+/]}/page") * 3) } }
      10.times { assert_equal 200, server.get("/metrics").status }
      assert_equal 200, server.get_when(heap).status
      [*half, *stalled].each(&:close)
    end
  end

  test "while a process forks and runs exec, requests are answered, or the answer says that the process is gone" do
    sampled(FORKS.sub("RbConfig.ruby", RbConfig.ruby.dump)) do |process|
      server.get_when("/memory?pid=#{process.pid}")
      statuses = Array.new(20) do
        page = server.get("/metrics")
        assert_equal 200, page.status
        pids = page.body.scan(/^ruby_heap_agent_up\{.*pid="(\d+)"/).flatten.map(&:to_i).select { |pid| File.read("/proc/#{pid}/stat")[/\) \S \d+ (\d+)/, 1].to_i == process.pid rescue false }
        pids.flat_map { |pid| %w[heap delta_heap].map { |name| server.get("/debug/pprof/#{name}?pid=#{pid}").status } }
      end.flatten
      assert(statuses.include?(200) && (statuses - [200, 404, 502, 503]).empty?, statuses.tally.inspect)
    end
  end
end
