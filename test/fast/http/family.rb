# frozen_string_literal: true

# Processes that share an address: one answers for all.

require_relative "serving"

def kept(profile, name) = profile.rows.sum { |row| row.class_name == name ? row.inuse.objects + row.young.objects : 0 }

FORKS = <<~RUBY
  %w[One Two].each { |name| Object.const_set(name, Class.new) }
  made, tell = IO.pipe
  children = [One, Two].map { |one| fork { $stdin.close; $kept = Array.new(20_000) { one.new }; tell << "."; sleep } }
  made.read(2)
  ready
  puts children.join(" ")
  gets
RUBY

serving(FORKS) do |it|
  children = it.io.gets.split.map(&:to_i)
  test "metrics are of the parent and of its children" do
    waits_for(60) { pids(it.get("/metrics").body).sort == [it.pid, *children].sort }
    page = it.get("/metrics", Accept: "application/openmetrics-text").body
    equal 1, page.scan(/^# TYPE ruby_memory_bytes /).size
    equal [children.first], pids(it.get("/metrics?pid=#{children.first}").body)
  end
  test "pid= is the profile of that child" do
    counts = children.map { |pid| it.get("/debug/pprof/heap?pid=#{pid}").profile.then { |profile| [kept(profile, "One"), kept(profile, "Two")] } }
    assert(counts[0][0].between?(12_000, 28_000) && counts[0][1].zero? && counts[1][0].zero? && counts[1][1].between?(12_000, 28_000), counts.inspect)
    equal(children.last, it.get("/debug/pprof/heap?pid=#{children.last}").profile.info.process_id)
  end
  test "the index lists them" do
    page = it.get("/").body
    assert([it.pid, *children].all? { |pid| page.include?("heap?pid=#{pid}\"") }, page)
  end
  test "a difference, and a full GC, of a child" do
    answer = it.get("/debug/pprof/heap?pid=#{children.first}&seconds=1&gc=1")
    assert(answer.status == 200 && kept(answer.profile, "One").abs < 2000, answer.status.to_s)
  end
  test "a child that does not run is left out after a second" do
    Process.kill(:STOP, children.last)
    waits_for(60) { File.read("/proc/#{children.last}/stat")[/\) (\w)/, 1] == "T" }
    took = seconds { equal [it.pid, children.first].sort, pids(it.get("/metrics").body).sort }
    assert(took.between?(0.9, 20), took.to_s)
  ensure
    Process.kill(:CONT, children.last)
  end
  serving("ready; sleep", env: {"TMPDIR" => it.folder}) do |other|
    test "a process with another address is of another family" do
      assert(!pids(it.get("/metrics").body).include?(other.pid))
      assert(it.get("/debug/pprof/heap?pid=#{other.pid}").body.include?("has another http="))
    end
  end
  serving("ready; sleep 0.5; ready; sleep", http: it.to, env: {"TMPDIR" => it.folder}) do |other|
    test "one that was started by itself with the same address is of the same, and warns of nothing" do
      equal "ready\n", other.io.gets
      assert(pids(it.get("/metrics").body).include?(other.pid))
    end
  end
  test "when its owner is killed, a child has the address soon, and answers for its sibling" do
    Process.kill(:KILL, it.pid)
    took = seconds { waits_for(60) { (pids(get(it.to, "/metrics").body).sort == children.sort) rescue nil } }
    puts "# #{took.round(2)} s"
    assert(took < 30, took.to_s)
  end
end

test "a stranger who has the address is warned of once, and it is had when he goes" do
  stranger = TCPServer.open("127.0.0.1", 0)
  port = stranger.addr[1]
  warning = /heap-sample: http=127\.0\.0\.1:#{port}: another program uses this address/
  serving("sleep 1; fork { sleep 0.5 }; Process.wait; ready; puts gets; sleep", http: port, says: warning) do |it|
    it.io.puts("no more")
    equal "no more\n", it.io.gets
    stranger.close
    waits_for(60) { pids(get(port, "/metrics").body) == [it.pid] rescue nil }
  end
end

serving("Process.daemon(true, true); ready; sleep") do |it|
  test "a daemon has the address of the process that it comes from" do
    waits_for(60) { (get(it.to, "/debug/pprof/heap").status == 200) rescue nil }
    daemon = pids(get(it.to, "/metrics").body)
    assert(daemon.size == 1 && daemon != [it.pid])
    Process.kill(:KILL, daemon.first)
  end
end

serving("require 'rbconfig'; ready; gets; exec(RbConfig.ruby, '--disable-gems', '-e', '$stdout.sync = true; puts :again; sleep')") do |it|
  test "a program that is executed in its place has it, too" do
    slow = connect(it.to)
    slow.write("GET /debug/pprof/heap?seconds=100 HTTP/1.0\r\n\r\n")
    it.io.puts
    equal "again\n", it.io.gets
    left = begin
      slow.read
    rescue Errno::ECONNRESET    # it had not read the request yet
      ""
    end
    equal "", left
    waits_for(60) { (pids(get(it.to, "/metrics").body) == [it.pid]) rescue nil }
  end
end

serving("ready; while gets; fork { exit!(0) }; fork { sleep 0.3 }; Process.waitall; ready; end") do |it|
  test "children that come and go in the middle of an answer do it no harm" do
    answers = Thread.new { Array.new(60) { it.get("/debug/pprof/heap").status } }
    waits = 6.times.map { it.io.puts || it.io.gets }
    equal [[200], ["ready\n"]], [answers.value.uniq, waits.uniq]
  end
  test "nor does one hold a connection of its parent open" do
    waiting = connect(it.to)
    waiting.write("GET /debug/pprof/heap?seconds=1 HTTP/1.0\r\n\r\n")
    sleep 0.2
    it.io.puts
    assert(waiting.read.include?("heap-delta"))
  end
end

Tap.finish
