# frozen_string_literal: true

# Workers of a Puma cluster are asked while they run.

require_relative "cluster"
require_relative "contained"
require "etc"

class LiveTest < PumaTest
  HELD = File.join(OUT, "held")
  # Of a machine that does nothing else; of another so much longer as there are programs for each of its processors.
  MOST = 0.1 * [1, File.read("/proc/loadavg").to_f / Etc.nprocessors].max
  CONTAINED = ENV["CHROOT"] && Contained.new(ENV["CHROOT"])

  shared(:served) do |share|
    env = {"RUBY_HEAP_SAMPLE" => "interval=16k,malloc=64k,output=none", "DATADOG" => ENV["DATADOG"], "HELD" => HELD}
    starting = CONTAINED ? {start: CONTAINED.method(:spawn), signal: :KILL} : {}
    cluster("live", env, options: ENV["YJIT"] ? %w[--yjit] : [], **starting) { |port, master| share.call([port, master]) }
  end

  def port = served.first
  # A process id of the cluster, as it is outside of its container.
  def outside(pid) = CONTAINED && pid ? CONTAINED.outside(pid) : pid

  # A worker that has made so many baskets.
  def filled
    5.times { number_at(port, "/fill") }
    HeapSample::LiveProcess.new(waits_for(60) { outside(number_at(port, "/fill")) })
  end

  # The worker that holds the GVL from now on, in C code.
  def worker_that_holds
    pid = waits_for(60) { File.exist?(HELD) && outside(File.read(HELD)[/\A(\d+)\n/, 1]&.to_i) }
    HeapSample::LiveProcess.new(pid)
  end

  # Seconds until the first byte of the answer has come.
  def seconds(socket, line)
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    UNIXSocket.open(socket) { |guest| guest.write("heap-sample/1 #{line}\n") && guest.readpartial(1) }
    Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
  end

  # Of nine times, the machine may be busy with others in six.
  def usual(times) = times.sort[times.size / 3]

  # What heapsample prints.
  def heapsample(*arguments)
    said, status = Open3.capture2e(RbConfig.ruby, "--disable=gems", File.join(TOP, "src/libexec/heapsample"), *arguments)
    assert(status.success?, "#{arguments.join(" ")}: #{said}")
    said
  end

  test "master and workers are listed, and each answers for itself" do
    first = CONTAINED ? 1 : served.last
    all = HeapSample::LiveProcess.all.select { |process| process.listens? && (!CONTAINED || CONTAINED.all.include?(process.pid)) }
    # Processes of other suites may end meanwhile.
    family = all.filter_map { |process| process.hello rescue nil }.select { |about| [about[:process_id], about[:parent_id]].include?(first) }
    assert_equal 3, family.size
    assert_equal 2, family.count { |about| about[:title].match?(/\Apuma: cluster worker \d/) }
  end

  test "a worker shows what it retains, and what retains that" do
    worker = filled
    baskets = worker.profile(gc: true, diagnose: "50%").rows.select { |row| row.class_name == "Basket" }.sum { |row| row.inuse.objects }
    assert_operator baskets, :>, 10_000
    why = worker.profile(why: true, diagnose: "50%").why
    assert_includes why.to_s, "Basket::KEPT", why.reason
  end

  test "while C code holds the GVL, requests that need no Ruby are answered within 0.1 s, and settings are refused" do
    filled
    File.delete(HELD) if File.exist?(HELD)
    waiting = Thread.new { number_at(port, "/hold") }
    worker = worker_that_holds
    socket = worker.socket
    set = Thread.new { worker.set(interval: "64k") && nil rescue $!.message }
    times = %w[hello memory profile].to_h { |line| [line, Array.new(9) { seconds(socket, line) }] }
    note "#{times.transform_values { |list| usual(list).round(4) }}, the longest #{times.values.flatten.max.round(4)}"
    assert(times.values.all? { |list| usual(list) < MOST }, times.inspect)
    assert_includes set.value.to_s, "did not reach a safe point within 5 s"
    assert_equal worker.pid, outside(waiting.value)
    assert_equal 32_768, worker.set(interval: "32k")[:interval]
    assert number_at(port, "/")
  end

  test "heapsample reads a worker in a container from outside", missing: ("CHROOT is not set: test-chroot sets it" unless CONTAINED) do
    worker = filled
    pid = worker.pid.to_s
    assert(heapsample("ps").lines.any? { |line| line.match?(/^\s*#{pid} .*puma: cluster worker/) })
    {["top", pid, "--by", "class", "--diagnose", "50%"] => "Basket", ["ps", pid] => "live slots", ["why", pid] => "Basket::KEPT",
     ["diagnose", "--snapshot", pid] => "Basket", ["diagnose", "--about", pid] => "one sample per",
     [pid, "--seconds", "2"] => "Diagnosis:", ["watch", pid, "--seconds", "1"] => "RSS", ["diff", pid, "--seconds", "1"] => "Growth of live memory",
     ["start", pid, "interval=32k"] => "one sample per 32 KiB"}.each { |arguments, wanted| assert_includes heapsample(*arguments), wanted }
  end
end
