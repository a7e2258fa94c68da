# frozen_string_literal: true

# What the agent does by itself: it asks for and keeps profiles, notices ended processes and prints warnings. With real processes; the clock is
# simulated where hours pass.

require_relative "serving"

class WatchingTest < AgentTest
  include HeapSample::Tool

  # A consumer that notes what it gets.
  class Notes
    attr_reader :takes, :ends

    def initialize = (@takes, @ends = [], [])
    def profile(take) = @takes << take
    def ended(take, cause) = @ends << [take, cause]
    def of(pid) = @takes.select { |take| take.process.pid == pid }
  end

  # What a fake take needs of a process.
  FakeProcess = Struct.new(:pid, :key, :title, :death)

  GROWS = "$kept = []; ready; while (line = gets); $kept << 'x' * (line.to_i << 20); puts 'done'; end"
  # Each major GC finds more tickets.
  LEAKS = <<~RUBY
    class Ticket; end
    $kept = []
    def leak = 3000.times { $kept << Ticket.new }
    ready
    loop do
      leak
      10_000.times { Object.new }
      GC.start
      sleep 0.05
    end
  RUBY
  START = Time.utc(2026, 1, 1)

  # Yields the Notes of a watch; what it prints is @printed.
  def watched(interval: 15, consumers: [])
    notes = Notes.new
    thread = nil
    _, @printed = capture_io do
      thread = AgentWatch.new(processes = AgentProcesses.new(nil), [notes, *consumers], interval: interval).run
      yield notes, processes
    end
  ensure
    thread&.kill&.join
  end

  def folder = @folder ||= Dir.mktmpdir("keep", FOLDER)
  def store(most = 1 << 30, **clock) = AgentStore.new(folder, most, **clock)
  def kept = Dir.glob("**/*", base: folder).select { |path| File.file?("#{folder}/#{path}") }.sort

  # A real profile, once.
  shared(:bytes) { |share| sampled(SLEEPS) { |process| share.call(HeapSample::LiveProcess.new(process.pid).bytes("profile", for: "agent")) } }

  def fake_take(at, pid: 11, bytes: self.bytes) = AgentTake.new(FakeProcess.new(pid, [pid, "7"], "fake", AgentDeath.new(pid)), bytes, at, 1 << 20)

  # Works on what a consumer has got, as its thread does.
  def deliver(consumer, method, *arguments)
    consumer.public_send(method, *arguments)
    consumer.send(:work, *consumer.send(:pop))
  end

  def release(store) = store.instance_variable_get(:@lock_file).close

  test "each process is asked at the interval, and no sooner while its memory does not grow" do
    sampled(SLEEPS) do |process|
      watched(interval: 4) do |notes|
        waits_for(DEADLINE) { notes.of(process.pid).size >= 5 }
        times = notes.of(process.pid).map(&:taken)
        steps = times.each_cons(2).map { |one, other| other - one }
        # The first one comes sooner, by a random time: not all processes are asked at once.
        assert(steps.drop(1).all? { |step| step.between?(2.5, 5.5) } && steps.first <= 5.5, steps.inspect)
        take = notes.of(process.pid).last
        assert_equal [process.pid, "agent"], [take.info.process_id, take.info.reason]
        assert_equal take.profile.info.values, take.info.values
        assert_equal HeapSample::Tool::AgentProcess.identity(process.pid), take.key
      end
    end
  end

  test "a process that grows is asked sooner: its last profile is at most 5% of RSS old" do
    sampled(GROWS) do |process|
      watched(interval: 600) do |notes|
        waits_for(DEADLINE) { notes.of(process.pid).any? }
        # A process that has just started grows by itself.
        waits_for(DEADLINE) { notes.of(process.pid).size.then { |size| sleep(3) && notes.of(process.pid).size == size } }
        3.times do |step|
          process.say("20")
          assert_equal "done\n", process.line
          rss = AgentProcess.new(process.pid, "", nil).rss
          assert(waits_for(DEADLINE) { notes.of(process.pid).last.rss >= rss / 1.05 }, "step #{step}")
        end
      end
    end
  end

  FORKS = <<~RUBY
    require "rbconfig"
    ready
    child = fork { sleep }
    puts child
    gets
    Process.kill(:KILL, child)
    Process.wait(child)
    exec(RbConfig.ruby, "--disable=gems", "-e", "$stdout.sync = true; puts 'done'; sleep")
  RUBY

  test "a forked child is asked by itself, and after exec the same process is asked for the new program" do
    sampled(FORKS) do |process|
      child = process.line.to_i
      watched(interval: 2) do |notes|
        waits_for(DEADLINE) { [process.pid, child].all? { |pid| notes.of(pid).any? } }
        assert_equal [child, process.pid], notes.of(child).last.info.then { |info| [info.process_id, info.parent_id] }
        before = notes.of(process.pid).last
        process.say
        assert_equal "done\n", process.line
        after = waits_for(DEADLINE) { notes.of(process.pid).find { |take| !take.info.same_run?(before.info) } }
        assert_equal before.key, after.key
        # The child has ended; the process that called exec has not.
        waits_for(DEADLINE) { notes.ends.any? { |take, _| take.process.pid == child } }
        assert_empty(notes.ends.select { |take, _| take.process.pid == process.pid })
      end
    end
  end

  test "a killed process leaves its last profile, with cause and diagnosis; one that ends normally and its memory limit do not" do
    keeper = store
    keeper.run
    sampled(LEAKS, "interval=4k,malloc=off,output=none") do |process|
      sampled(GROWS) do |other|
        watched(interval: 2, consumers: [keeper]) do |notes|
          waits_for(DEADLINE) { notes.of(process.pid).size >= 3 && notes.of(other.pid).size >= 2 }
          other.io.close_write
          waits_for(DEADLINE) { notes.ends.any? { |take, _| take.process.pid == other.pid } }
          Process.kill(:KILL, process.pid)
          waits_for(DEADLINE) { kept.grep(/died-.*txt/).any? }
          # This test has not read the status of its child.
          assert_equal({other.pid => nil, process.pid => :killed}, notes.ends.to_h { |take, cause| [take.process.pid, cause] }.slice(other.pid, process.pid))
          mine = kept.grep(%r{\A#{process.pid}-\d+/})
          text = File.read("#{folder}/#{mine.grep(/died-.*txt/).first}")
          assert(text.include?("ended unexpectedly: it was killed (SIGKILL).") && text.include?("Diagnosis: process #{process.pid}") && text.include?("RSS was"), text)
          died = mine.grep(/died-.*pb\.gz/)
          assert_equal [1, 0], [died.size, kept.grep(%r{\A#{other.pid}-\d+/died}).size]
          assert_equal notes.of(process.pid).last.bytes, File.binread("#{folder}/#{died.first}")
          assert_equal [0o700, 0o600], [File.dirname(died.first), died.first].map { |path| File.stat("#{folder}/#{path}").mode & 0o777 }
          said, status = heapsample("#{folder}/#{File.dirname(died.first)}")
          assert(status.success? && said.include?("process #{process.pid}") && !said.include?("left out"), said)
        end
        assert_equal 1, @printed.lines.grep(/process #{process.pid} .*ended unexpectedly: it was killed \(SIGKILL\)/).size, @printed
      end
    end
  ensure
    keeper&.run&.kill
  end

  test "the cause of a death: OOM by the counter of its cgroup or of the machine, a crash, exit!, a kill" do
    Dir.mktmpdir do |root|
      proc, cgroups = "#{root}/proc", "#{root}/cgroups"
      FileUtils.mkdir_p(["#{proc}/9", "#{cgroups}/app/worker", "#{cgroups}/memory/app"])
      oom = ->(file, count) { File.write(file, "max 0\noom_kill #{count}\n") }
      zombie = ->(status) { File.write("#{proc}/9/stat", "9 (a) b) #{status ? "Z" : "R"} #{(["0"] * 48).join(" ")} #{status}") }
      death = lambda do |cgroup, status, before: {}, after: {}|
        File.write("#{proc}/9/cgroup", cgroup)
        before.each { |file, count| oom.call(file, count) }
        zombie.call(nil)
        AgentDeath.new(9, proc: proc, cgroups: cgroups).tap(&:note).tap do |it|
          after.each { |file, count| oom.call(file, count) }
          status ? zombie.call(status) : File.unlink("#{proc}/9/stat")
          it.look
          it.cause         # processes that end later change the files
        end
      end
      events, old, machine = "#{cgroups}/app/worker/memory.events", "#{cgroups}/memory/app/memory.oom_control", "#{proc}/vmstat"
      all = {events => 3, old => 1, machine => 5}
      deaths = [death.call("0::/app/worker\n", 9, before: all, after: {events => 4, machine => 6}), death.call("0::/app/worker\n", nil, before: all, after: {events => 4}),
                death.call("3:cpu,memory:/app\n0::/\n", nil, before: all, after: {old => 2}), death.call("0::/../other\n", nil, before: all, after: {machine => 6}),
                death.call("0::/app/worker\n", 9, before: all), death.call("0::/app/worker\n", 11, before: all, after: {events => 4}),
                death.call("0::/app/worker\n", 3 << 8, before: all, after: {events => 4}), death.call("0::/app/worker\n", nil, before: all)]
      assert_equal %i[oom_kill oom_kill oom_kill oom_kill_likely killed crashed exited unknown], deaths.map(&:cause)
      assert_equal ["the kernel killed it because memory ran out (oom_kill in #{events}: 3, then 4)", "it crashed, or was ended by a signal (SIGSEGV)", "it called exit! (status 3)",
                    "it called exit!, crashed, or was killed"], deaths.values_at(0, 5, 6, 7).map(&:sentence)
    end
  end

  test "profiles become fewer with age: all of 5 minutes, then one a minute, one each 10 minutes, one an hour" do
    now = START
    keeper = store(clock: -> { now })
    7200.times { |index| deliver(keeper, :profile, fake_take(now = START + (15 * index))) }         # 30 hours
    ages = kept.map { |path| now - Time.utc(*File.basename(path).match(/-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)/).captures.map(&:to_i)) }.sort
    counts = [0..300, 301..3600, 3601..86_400, 86_401..200_000].map { |range| ages.count { |age| range.cover?(age) } }
    assert_equal [21, 55, 138, 6], counts
    assert_equal now - START, ages.last       # the first one is there
    release(keeper)
    # A restart goes on with what is there.
    again = store(clock: -> { now })
    deliver(again, :profile, fake_take(now += 15))
    assert_includes ages.size..ages.size + 1, kept.size
    assert_equal START.strftime("heap-%Y%m%dT%H%M%S.000.pb.gz"), File.basename(kept.first)
  end

  test "above --keep-size the oldest profile of the process that has most is dropped, and those of deaths last" do
    keeper = store(40 * 4096, clock: -> { START + 39 })
    size = [bytes.bytesize.fdiv(4096).ceil, 1].max
    small = fake_take(START, pid: 22)
    deliver(keeper, :profile, small)
    deliver(keeper, :ended, small, :killed)
    40.times { |index| deliver(keeper, :profile, fake_take(START + index)) }
    blocks = kept.sum { |path| File.size("#{folder}/#{path}").fdiv(4096).ceil }
    assert(blocks <= 38 && blocks > 38 - (2 * size), "#{blocks} of #{size}: #{kept}")
    assert_equal 2, kept.grep(%r{\A22-7/died}).size
    assert_equal (START + 39).strftime("heap-%Y%m%dT%H%M%S.000.pb.gz"), File.basename(kept.grep(/heap/).last)
    assert(kept.grep(/heap/).none? { |path| path.include?("T000000") })
    release(keeper)
    store((size + 2) * 4096, clock: -> { START + 39 })                 # now there is room only for the profile of the end
    assert_equal [%w[22-7]], [kept.map { |path| File.dirname(path) }.uniq]
  end

  test "a folder that is a link, or open to others, or of another agent is refused; what a crash left behind is removed" do
    link = "#{FOLDER}/link-#{Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)}"
    File.symlink(folder, link)
    assert_error(HeapSample::Tool::Failure, /not a folder, but a link/) { AgentStore.new(link, 1 << 20) }
    open = Dir.mktmpdir("open", FOLDER).tap { |path| File.chmod(0o777, path) }
    assert_error(HeapSample::Tool::Failure, /other users may write/) { AgentStore.new(open, 1 << 20) }
    Dir.mkdir("#{folder}/11-7", 0o700)
    File.write("#{folder}/11-7/.heapsample-1-2.tmp", "half")
    keeper = store
    assert_empty kept.grep(/tmp/)
    assert_error(HeapSample::Tool::Failure, /another agent keeps/) { store }
    release(keeper)
    said, status = heapsample("agent", "--keep", "/proc/self", "--keep-size", "1x")
    assert(status.exitstatus == 2 && said.include?("it must be a size"), said)
  end

  test "a hostile process neither stops the watch nor fills the disk" do
    keeper = store(8 << 20)
    keeper.run
    body = File.join(HOSTILE, "body")
    File.binwrite(body, bytes + Random.bytes(3 << 20))
    fakes = ["io.write(Random.bytes(100_000))", "io.write(frame('x' * 1000, type: 'pb.gz'))", "sleep",
             "io.write(frame(File.binread(#{body.dump}), type: 'pb.gz'))"]
    with_fakes(fakes) do |hostile|
      sampled(SLEEPS) do |good|
        watched(interval: 2, consumers: [keeper]) do |notes|
          assert(waits_for(DEADLINE) { notes.of(good.pid).size >= 5 && notes.of(hostile.last.pid).size >= 5 })
          assert(waits_for(DEADLINE) { kept.grep(%r{\A#{good.pid}-}).size >= 2 })
          assert_empty(hostile.first(3).flat_map { |process| kept.grep(%r{\A#{process.pid}-}) })
          # A file may be removed meanwhile.
          assert(kept.sum { |path| File.size?("#{folder}/#{path}").to_i } <= 8 << 20, kept.inspect)
        end
        assert_empty @printed.lines.grep(/internal error/)
      end
    end
  ensure
    keeper&.run&.kill
  end

  HOSTILE = Dir.mktmpdir("hostile", FOLDER)

  def with_fakes(bodies, processes = [], &block)
    return yield(processes) if bodies.empty?

    fake(bodies.first) { |process| with_fakes(bodies.drop(1), [*processes, process], &block) }
  end

  test "a leak and a limit are one line each, and another one only when they were over" do
    now = 0
    warnings = AgentWarnings.new(clock: -> { now })
    one = HeapSample::Account::Limit
    take = fake_take(START)
    said = lambda do |*shares|
      capture_io { shares.each { |share| warnings.send(:limit, take, one.new(1 << 30, (share * (1 << 30)).to_i, false)) } }.last.lines
    end
    assert_equal 1, said.call(0.5, 0.89, 0.91, 0.95, 0.88, 0.99).size
    assert_equal 1, said.call(0.86, 0.84, 0.92).size
    lines = capture_io { [false, true, true, false, true].each { |leaks| warnings.send(:warn_once, [1, "2"], leaks) { "leaks" } } }.last.lines
    assert_equal 2, lines.size
  end

  test "a process that leaks: one line, a metric of the line, the time to the limit, and the page of all processes" do
    sampled(LEAKS) do |process|
      # A minute is a second for it.
      warnings = AgentWarnings.new(clock: -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) * 60 })
      warnings.run
      watched(interval: 1, consumers: [warnings]) do |notes, processes|
        take = waits_for(DEADLINE) { notes.of(process.pid).first }
        verdict = waits_for(2 * DEADLINE) { warnings.verdict(take.process).then { |one| one if one.leaks.any? } }
        assert(verdict.leaks.first.first.start_with?("-e:3 "), verdict.leaks.inspect)
        assert_equal "likely", verdict.leaks.first.last
        # Where the limit of this machine is known, there is a time.
        assert(take.info.account.limit.nil? || verdict.to_limit.positive?, verdict.inspect)
        app = AgentApp.new(AgentDoor.new(nil, nil), processes, warnings)
        metrics = get(app, "/metrics")
        assert_includes metrics, "line=\"#{verdict.leaks.first.first}\",grade=\"likely\"} 1\n"
        assert(metrics.match?(/^ruby_heap_seconds_to_limit\{.*pid="#{process.pid}"\} [\d.e+]+$/) || verdict.to_limit.nil?, metrics)
        assert(metrics.match?(/^ruby_memory_limit_bytes\{.*of="\w+"\} \d+$/) || take.info.account.limit.nil?)
        reported, status = Open3.capture2e("promtool", "check", "metrics", stdin_data: metrics)
        assert(status.success?, reported)
        row = get(app, "/").lines.find { |line| line.include?("/#{process.pid}/") }
        assert(row.include?("Leak (likely)") && row.match?(/<td>\d+ MiB<\/td>/), row)
        # It leaks on, and is judged again; that is no news.
        judged = warnings.instance_variable_get(:@judged)[take.key]
        at = judged.read
        waits_for(DEADLINE) { judged.read > at }
      end
      assert_equal 1, @printed.lines.grep(/process #{process.pid} .*leaks: Leak/).size, @printed
    end
  end

  def get(app, path) = app.call({"REQUEST_METHOD" => "GET", "PATH_INFO" => path, "QUERY_STRING" => "", "HTTP_HOST" => "localhost"}).last.join
end
