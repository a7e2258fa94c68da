# frozen_string_literal: true

# Programs that hold the GVL, fork and exec, and clients that come in hundreds or do not read.

require_relative "serving"

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

agent do |it|
  test "while C code holds the GVL for 10 s all is answered but gc=1, which says so" do
    sampled(HOLDS) do |process|
      equal "holding\n", process.line
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      it.get_when("/memory?pid=#{process.pid}")
      heap = "/debug/pprof/heap?pid=#{process.pid}"
      paths = [heap, heap.sub("heap?", "allocs?"), heap.sub("heap?", "delta_heap?"), "#{heap}&seconds=1", "/metrics", "/#{process.pid}/report"]
      equal [200] * 6, paths.map { |path| it.get(path).status }
      assert(it.get("/metrics").body.match?(/^ruby_heap_agent_up\{.*pid="#{process.pid}"\} 1$/))
      answer = it.get("#{heap}&gc=1")
      assert(answer.status == 503 && answer.body.include?("safe point"), answer.to_s)
      sleep [began + 10 - Process.clock_gettime(Process::CLOCK_MONOTONIC), 0].max
      equal nil, process.io.wait_readable(0)
      equal 200, it.get(heap).status
      process.say
      equal "released\n", process.line
    end
  end

  sampled("ready; $kept = Array.new(1000) { Object.new }; sleep") do |process|
    heap = "/debug/pprof/heap?pid=#{process.pid}"
    it.get_when(heap)
    files = it.files

    test "of 200 at once each is answered, or is to come again, and then others are answered" do
      guests = Array.new(200) { connect(it.to) }
      guests.each { |guest| guest.write(request(heap)) }
      statuses = guests.map { |guest| answered(guest).status }
      guests.each(&:close)
      assert(statuses.include?(200) && (statuses - [200, 503]).empty?, statuses.tally.inspect)
      equal 200, it.get_when(heap).status
    end

    test "clients that send half a request, or read nothing, delay nobody" do
      half = Array.new(100) { connect(it.to).tap { |guest| guest.write("GET /metrics HTTP/1.1\r\nHost:") } }
      stalled = Array.new(8) { connect(it.to).tap { |guest| guest.write(request("/#{process.pid}/page") * 20) } }
      10.times { equal 200, it.get("/metrics").status }
      equal 200, it.get_when(heap).status
      [*half, *stalled].each(&:close)
    end

    test "and afterwards no descriptor is left open" do
      assert(waits_for(DEADLINE) { it.files <= files + 2 })       # threads of Puma may have one more each for a moment
    end
  end

  test "fork and exec at any moment: what is asked is answered, or it is said that the process is gone" do
    sampled(FORKS.sub("RbConfig.ruby", RbConfig.ruby.dump)) do |process|
      it.get_when("/memory?pid=#{process.pid}")
      statuses = Array.new(40) do
        page = it.get("/metrics")
        equal 200, page.status
        pids = page.body.scan(/^ruby_heap_agent_up\{.*pid="(\d+)"/).flatten.map(&:to_i).select { |pid| File.read("/proc/#{pid}/stat")[/\) \S \d+ (\d+)/, 1].to_i == process.pid rescue false }
        pids.flat_map { |pid| %w[heap delta_heap].map { |name| it.get("/debug/pprof/#{name}?pid=#{pid}").status } }
      end.flatten
      assert(statuses.include?(200) && (statuses - [200, 404, 502, 503]).empty?, statuses.tally.inspect)
    end
  end

  test "and the agent has printed nothing" do
    equal [], it.rest.grep_v(KILLED)
  end
end

Tap.finish
