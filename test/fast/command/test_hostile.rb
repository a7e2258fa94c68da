# frozen_string_literal: true

# Processes that answer in place of a Ruby, or look like one, and mean no good: each costs one line and a bounded time.

require "socket"
require_relative "processes"

class HostileTest < Test
  include CommandHelper
  include OwnSockets

  # Has the program and the signal's handler of a Ruby with the sampler, and answers at its address by the code that follows;
  # `frame` makes a whole answer.
  ANSWERING = <<~'RUBY'
    require "socket"
    def frame(body, length = body.bytesize, type: "json") = "heap-sample/1 ok #{type} #{length}\n#{body}"
    folder = "#{ENV["TMPDIR"]}/ruby-heap-#{Process.euid}"
    Dir.mkdir(folder, 0o700) unless File.directory?(folder)
    server = UNIXServer.new("#{folder}/#{$$}-#{File.read("/proc/self/stat")[/.*\)(.*)/m, 1].split[19]}.sock")
    $stdout.puts("ready") || $stdout.flush
  RUBY
  GUESTS = <<~'RUBY'
    while (guest = server.accept)
      Thread.new(guest) { |io| io.gets; answer(io) rescue nil; io.close rescue nil }
    end
  RUBY

  # The process id of one that runs +program+.
  def running(program, *options)
    io = IO.popen([{"RUBY_HEAP_SAMPLE" => nil, "XDG_RUNTIME_DIR" => nil}, OURS, "--disable=gems", *options, "-e", program])
    io.gets
    yield io.pid, io
  ensure
    Process.kill(:KILL, io.pid) rescue nil
    io.close
  end

  # Answers each verb by +body+, Ruby code that writes to `io`.
  def answering(body, &block) = running("#{ANSWERING}\ndef answer(io)\n#{body}\nend\n#{GUESTS}", &block)

  # Seconds. No process here ever ends its answer, so a reader without a limit would never return.
  MOST = 60

  def seconds
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    yield
    Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
  end

  # The sentence of LiveProcess::Refused.
  def refused
    yield
    flunk "not refused"
  rescue HeapSample::LiveProcess::Refused => e
    e.message
  end

  def whole(**fields) = {process_id: 1, taken_ns: 2, sampling: false, **fields}
  def as_json(value) = "io.write(frame(#{JSON.generate(value).dump}))"

  DRIPS = 'io.write("heap-sample/1 ok json 60000\n"); loop { io.write(" ") ; sleep 0.2 }'

  test "an answer that drips has 5 s, a connection that is not taken as well" do
    [DRIPS, "loop { io.write('h'); sleep 0.3 }", "sleep"].map do |body|
      Thread.new do
        answering(body) do |pid|
          sentence = nil
          took = seconds { sentence = refused { HeapSample::LiveProcess.new(pid).hello } }
          assert(sentence == "process #{pid}: no complete answer within 5 s; try again" && took.between?(4.9, MOST), [body, took, sentence].inspect)
        end
      end
    end.each(&:value)
    running("#{ANSWERING.sub(/\$stdout\.puts.*/, "server.listen(0)\n\\0")}\nsleep") do |pid|
      guests = nil
      took = seconds { guests = Array.new(4) { Thread.new { refused { HeapSample::LiveProcess.new(pid).memory } } }.map(&:value) }
      assert(guests.all? { |sentence| sentence.include?("no complete answer within 5 s") } && took < MOST, [took, guests].inspect)
    end
  end

  test "what is larger than an answer can be is not read" do
    {"hello" => (64 << 10) + 1, "memory" => (1 << 20) + 1, "profile" => (64 << 20) + 1}.each do |verb, length|
      answering("io.write(frame('', #{length})); sleep") do |pid|
        sentence = nil
        assert(seconds { sentence = refused { HeapSample::LiveProcess.new(pid).public_send(verb) } } < MOST)
        assert_equal("process #{pid}: its answer is larger than #{length >> 10} KiB", sentence)
      end
    end
    answering("io.write('x' * 100_000)") { |pid| assert(refused { HeapSample::LiveProcess.new(pid).hello }.include?("does not use the protocol heap-sample/1")) }
  end

  test "JSON of other types and numbers out of range are refused, in one sentence" do
    bad = ["x", [], 5, {}, whole(process_id: "1"), whole(process_id: -1), whole(taken_ns: 2**70), whole(sampling: "yes"), whole(sampling: true),
           whole(title: "x" * 5000), whole(account: 5), whole(account: {rss: 2**80}), whole(malloc: []), whole(every: "60")].map { |value| as_json(value) }
    bad += ['io.write(frame("{"))', 'io.write(frame("[" * 100 + "]" * 100))', 'io.write(frame(%({"process_id":1,"taken_ns":1e999,"sampling":false})))', "io.write(frame(\"\\xff\"))"]
    file = "#{@sockets}/answer"      # and no queue: another program's `ps` may ask this process too
    answering("eval(File.read(#{file.dump}))") do |pid|
      bad.each do |body|
        File.write(file, body)
        sentence = refused { HeapSample::LiveProcess.new(pid).hello }
        assert(sentence.start_with?("process #{pid}: its answer is damaged: ") && !sentence.include?("\n"), [body, sentence].inspect)
      end
    end
    answering(as_json(gc: {count: 1})) { |pid| fails(1, /process #{pid}: its answer is damaged: account is missing/, "ps", pid.to_s) }
    answering('io.write(frame("no profile", type: "pb.gz"))') { |pid| fails(1, /process #{pid}: /, "top", pid.to_s) }
  end

  test "escape sequences of an answer reach no terminal" do
    evil = "\e]0;owned\a\e[31m\u202e"
    said = whole(sampling: true, interval: 65_536, started_ns: 1, title: evil, malloc: {state: "off", missing: evil}, account: {rss: 5})
    answering(as_json(said)) do |pid|
      [heapsample("start", pid.to_s), heapsample("start", pid.to_s, "off"), heapsample("ps")].each do |result|
        refute("#{result.out}#{result.err}".match?(/[\e\a\u202e]/), result.out)
      end
      assert(heapsample("start", pid.to_s).out.include?("\\e]0;owned"))
    end
    answering(as_json(said.merge(every: evil))) do |pid|
      [heapsample("start", pid.to_s), heapsample("start", pid.to_s, "interval=8k")].each { |result| refute("#{result.out}#{result.err}".match?(/[\e\a\u202e]/), result.out) }
    end
    answering("io.write(\"heap-sample/1 error text 12\\n\\e[31mno\\n\\e[0m\")") do |pid|
      error = heapsample("ps", pid.to_s).err
      assert(error.count("\n") == 1 && !error.include?("\e"), error)
    end
  end

  test "ps has no line about a process that ends while it is asked" do
    answering("io.close; server = Dir[\"\#{ENV['TMPDIR']}/*/\#{$$}-*.sock\"].first; File.unlink(server); exit!") do |pid|
      result = heapsample("ps")
      assert(result.status.zero? && !"#{result.out}#{result.err}".match?(/\b#{pid}\b/), result.inspect)     # others may be on this machine
    end
  end

  test "ps lists the others, and has one line for each that does not answer" do
    answering(DRIPS) do |slow|
      answering("io.write(frame('', 536_870_912)); loop { io.write('[],' * 10_000) }") do |big|
        answering(as_json("x")) do |text|
          running("$0 = 'a good one'; puts; $stdout.flush; sleep") do |good|
            result = nil
            took = seconds { result = heapsample("ps") }
            assert(result.status.zero? && took < MOST && result.out.match?(/^\s*#{good} .*a good one/), [took, result].inspect)
            [slow, big, text].each { |pid| assert_equal([pid, 1], [pid, result.err.lines.grep(/^heapsample: process #{pid}: /).size]) }
          end
        end
      end
    end
  end

  # -- the signal -------------------------------------------------------------------------------------

  # What LiveProcess looks at while +change+ happens to the process.
  def looked_at(pid, &change)
    HeapSample::LiveProcess.new(pid).tap do |process|
      process.define_singleton_method(:ruby?) { super().tap(&change) }
    end
  end

  test "a process that runs another program meanwhile gets no signal" do
    running("trap(:USR1) { exec('sleep', '600') }; puts; $stdout.flush; sleep") do |pid|
      process = looked_at(pid) do
        Process.kill(:USR1, pid)
        sleep 0.01 until File.readlink("/proc/#{pid}/exe").end_with?("sleep")
      end
      assert_equal("process #{pid}: the process has ended", refused { process.memory })
      sleep 0.2
      assert(File.read("/proc/#{pid}/stat").match?(/\(sleep\) S/), "it was killed")
    end
  end

  LAST_PID = "/proc/sys/kernel/ns_last_pid"

  test "nor does a process that has got its number meanwhile", missing: ("not root" unless File.writable?(LAST_PID) && Process.euid.zero?) do
    running("puts; $stdout.flush; sleep") do |pid, _|
      victim = nil
      process = looked_at(pid) do
        Process.kill(:KILL, pid)
        Process.wait(pid)
        1000.times do
          File.write(LAST_PID, (pid - 1).to_s)
          victim = Process.spawn("sleep", "600")
          break if victim == pid

          Process.kill(:KILL, victim)
          Process.wait(victim)
          victim = nil
        end
      end
      sentence = refused { process.memory }
      next unless victim         # another process was faster, each time

      assert_equal("process #{pid}: the process has ended", sentence)
      sleep 0.2
      assert_nil(Process.wait(victim, Process::WNOHANG))
    ensure
      Process.kill(:KILL, victim) if victim
    end
  end

  test "where the kernel has no pidfd nothing is signalled, and the sentence says so" do
    handle = HeapSample::ProcessHandle.singleton_class
    handle.alias_method(:opened, :open)
    handle.remove_method(:open)
    handle.define_method(:open) { |_| raise Errno::ENOSYS }
    running("puts; $stdout.flush; sleep") do |pid|
      assert(refused { HeapSample::LiveProcess.new(pid).memory }.include?("this kernel has no pidfd"))
      assert_equal([], Dir.glob("#{ENV["TMPDIR"]}/ruby-heap-*/#{pid}-*"))
    end
  ensure
    handle.remove_method(:open)
    handle.alias_method(:open, :opened)
    handle.remove_method(:opened)
  end
end
