# frozen_string_literal: true

# See run. Usage: ruby drive.rb OUT

require "etc"
require "fileutils"
require "heapsample"
require_relative "../../server"
require_relative "contained"

OUT = ARGV.fetch(0)
HELD = File.join(OUT, "held")
# Of a machine that does nothing else; of another so much longer as there are programs for each of its processors.
MOST = 0.1 * [1, File.read("/proc/loadavg").to_f / Etc.nprocessors].max

CONTAINED = ENV["CHROOT"] && Contained.new(ENV["CHROOT"])
# What starts Puma; and its process ids as whoever asks has them.
STARTING = CONTAINED ? {start: CONTAINED.method(:spawn), signal: :KILL} : {}
def outside(pid) = CONTAINED && pid ? CONTAINED.outside(pid) : pid

# The worker that holds the GVL from now on, in C code.
def worker_that_holds = File.exist?(HELD) && outside(File.read(HELD)[/\A(\d+)\n/, 1]&.to_i)

# Seconds until the first byte of the answer has come.
def answered(socket, line)
  began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  UNIXSocket.open(socket) { |guest| guest.write("heap-sample/1 #{line}\n") && guest.readpartial(1) }
  Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
end

# What heapsample prints.
def heapsample(*arguments)
  IO.popen([RbConfig.ruby, "--disable=gems", File.expand_path("../../../src/libexec/heapsample", __dir__), *arguments, {err: %i[child out]}], &:read).tap do |said|
    flunk("#{arguments.join(" ")}: #{said}") unless $?.success?
  end
end

def asked_by_hand(worker)
  pid = worker.pid.to_s
  assert(heapsample("ps").lines.any? { |line| line.match?(/^\s*#{pid} .*puma: cluster worker/) })
  {["top", pid, "--by", "class", "--diagnose", "50%"] => "Basket", ["diagnose", "--snapshot", pid] => "Basket", ["ps", pid] => "slots in use", ["why", pid] => "Basket::KEPT",
   ["diagnose", "--about", pid] => "one sample per 32 KiB", [pid, "--seconds", "2"] => "Diagnosis:", ["watch", pid, "--seconds", "1"] => "RSS",
   ["diff", pid, "--seconds", "1"] => "Growth of what is in use", ["start", pid, "interval=32k"] => "one sample per 32 KiB"}.each do |arguments, wanted|
    said = heapsample(*arguments)
    assert(said.include?(wanted), "#{arguments.join(" ")}: #{said[0, 2000]}")
  end
end

# Of nine, the machine may be busy with others in six.
def usual(times) = times.sort[times.size / 3]

[[], %w[--yjit]].each do |options|
  with = ["Puma", *options, *("Datadog" if ENV["DATADOG"]), *("in a root of its own" if CONTAINED)].join(" ")
  env = {"RUBY_HEAP_SAMPLE" => "interval=16k,malloc=64k,output=none", "DATADOG" => ENV["DATADOG"], "HELD" => HELD}
  puma(File.join(__dir__, "puma.rb"), env, log: "#{OUT}/puma.log", options: options, **STARTING) do |port, master|
    5.times { number_at(port, "/fill") }
    worker = HeapSample::LiveProcess.new(waits_for(60) { outside(number_at(port, "/fill")) })

    test("#{with}: master and workers are listed, each asked by itself") do
      first = CONTAINED ? 1 : master
      all = HeapSample::LiveProcess.all.select { |process| process.listens? && (!CONTAINED || CONTAINED.all.include?(process.pid)) }
      # Processes of other suites may end meanwhile.
      said = all.filter_map { |process| process.hello rescue nil }
      family = said.select { |about| [about[:process_id], about[:parent_id]].include?(first) }
      equal(3, family.size)
      equal(2, family.count { |about| about[:title].match?(/\Apuma: cluster worker \d/) })
    end

    test("#{with}: a worker says what it keeps, and who keeps it") do
      baskets = worker.profile(gc: true, diagnose: "50%").rows.select { |row| row.class_name == "Basket" }.sum { |row| row.inuse.objects }
      assert(baskets > 10_000, baskets)
      why = worker.profile(why: true, diagnose: "50%").why
      assert(why.to_s.include?("Basket::KEPT"), why.reason || why.to_s)
    end

    test("#{with}: its settings change while it waits for guests") do
      equal(32_768, worker.set(interval: "32k")[:interval])
      assert(number_at(port, "/"))
    end

    test("#{with}: while C code holds the GVL, what needs no Ruby is answered within 0.1 s; what needs it says so") do
      FileUtils.rm_f(HELD)
      waiting = Thread.new { number_at(port, "/hold") }
      waits_for(60) { worker_that_holds }.then { |pid| worker = HeapSample::LiveProcess.new(pid) }
      socket = worker.socket
      set = Thread.new { worker.set(interval: "64k") && nil rescue $!.message }
      times = %w[hello memory profile].to_h { |line| [line, Array.new(9) { answered(socket, line) }] }
      puts "# #{times.transform_values { |list| usual(list).round(4) }}, the longest #{times.values.flatten.max.round(4)}"
      assert(times.values.all? { |list| usual(list) < MOST }, times.inspect)
      assert(set.value.to_s.include?("did not reach a safe point within 5 s"), set.value.inspect)
      equal(worker.pid, outside(waiting.value))
      equal(32_768, worker.hello[:interval]) unless worker.set(interval: "32k").nil?
    end

    if CONTAINED
      test("#{with}: heapsample, as one calls it outside") do
        waits_for(30) { outside(number_at(port, "/fill")) == worker.pid }
        asked_by_hand(worker)
      end
    end

    test("#{with}: a thousand requests leave no file open and no memory behind") do
      look = -> { [Dir.children("/proc/#{worker.pid}/fd").size, worker.profile.info.own_bytes] }
      100.times { answered(worker.socket, "profile") }
      before = look.call
      1000.times { |i| answered(worker.socket, %w[hello memory profile][i % 3]) }
      after = waits_for(60) { look.call.then { |now| now if now[0] <= before[0] } }
      assert(after[1] - before[1] < 256 << 10, [before, after].inspect)
    end
  end
end
Tap.finish
