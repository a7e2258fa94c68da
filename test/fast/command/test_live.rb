# frozen_string_literal: true

# A running process wherever a file is: one that was not prepared, asked, sampled, judged, and let alone again.

require "io/wait"
require_relative "processes"

class LiveTest < Test
  include CommandHelper
  include OwnSockets

  # For two minutes and a half at least, however long who asks takes.
  GROWING = <<~'RUBY'
    $0 = "a program that grows"
    class Ticket; def initialize = @text = "x" * 100; end
    kept = []
    $stdout.puts("ready") || $stdout.flush
    sleep 0.005 while 100.times { kept << Ticket.new } && kept.size < 3_000_000
    sleep
  RUBY

  # Its sampling begins anew, over and over, from when it has been asked; for a moment it is not sampled then.
  RESTARTING = <<~'RUBY'
    $stdout.sync = true
    GC::SampleProfile.start(interval: 4096)
    puts "here"
    sleep 0.01 until Dir.glob("#{ENV["TMPDIR"]}/ruby-heap-*/*").any?
    loop { sleep 0.7; GC::SampleProfile.stop; sleep 0.2; GC::SampleProfile.start(interval: 4096) }
  RUBY

  # What the block asserts must hold with one of these numbers of seconds: a busy machine needs more of them.
  def with_seconds(*numbers)
    yield numbers.shift
  rescue Minitest::Assertion
    retry if numbers.any?
    raise
  end

  # The process id of one that runs +program+, while the block runs.
  def growing(program = GROWING)
    IO.popen([{"RUBY_HEAP_SAMPLE" => nil, "XDG_RUNTIME_DIR" => nil}, OURS, "--disable=gems", "-e", program]) do |io|
      io.gets
      yield io.pid, io.pid.to_s
    ensure
      Process.kill(:KILL, io.pid)
    end
  end

  # The same of one that is sampled.
  def sampled
    growing do |pid, text|
      printed("start", text, "interval=2k")
      yield pid, text
    end
  end

  test "ps lists it, with its title, not sampled" do
    growing do |pid|
      said = heapsample("ps")
      row = said.out.lines.find { |line| line.start_with?(/\s*#{pid} /) }
      # Where another process on this machine has a value of it there is a column more.
      assert(row&.match?(/\bno\s+(?:-\s+)?a program that grows/), [row, said.status, said.err].inspect)
      about = JSON.parse(heapsample("ps", "--json").out).find { |one| one["process_id"] == pid }
      assert_nil(about["sampling"])
      assert_equal([], Dir.glob("#{ENV["TMPDIR"]}/ruby-heap-*/*"))       # and it was not asked
    end
  end

  NO_OTHER_USER = ("needs root, and setpriv" unless Process.euid.zero? &&
                                                system("setpriv", "--reuid=65534", "--clear-groups", READER, "--disable=gems", "-e", "File.read(ARGV[0])", EXE, %i[out err] => File::NULL))

  test "ps of another user does not know whether it is sampled, and says so", missing: NO_OTHER_USER do
    growing do |pid|
      said = IO.popen([{**CLEAN, "TMPDIR" => nil}, "setpriv", "--reuid=65534", "--clear-groups", READER, "--disable=gems", EXE, "ps"], &:read)
      assert(said.lines.any? { |line| line.match?(/\A\s*#{pid} .* \?\s.*a program that grows/) }, said)
      assert(said.include?("? belongs to another user; run this as that user or as root."), said)
    end
  end

  test "ps shows a title with slashes as it is" do
    other = IO.popen([{"RUBY_HEAP_SAMPLE" => nil}, OURS, "--disable=gems", "-e", "$0 = 'puma 8.0 (tcp://[::]:3111) [shop]'; puts; $stdout.flush; sleep"])
    other.gets
    assert(heapsample("ps", "--width", "200").out.include?("puma 8.0 (tcp://[::]:3111) [shop]"))
  ensure
    Process.kill(:KILL, other.pid)
    other.close
  end

  test "what needs samples says how to start them" do
    growing do |pid, text|
      fails(1, /process #{pid}: this process is not sampled; run heapsample start #{pid}/, "top", text)
    end
  end

  test "start begins, at the settings that are given; malloc it cannot have" do
    growing do |pid, text|
      said = printed("start", text, "interval=4k,every=3600,output=none")
      assert(said.include?("process #{pid}: one sample per 4 KiB, every 3600 s a profile"), said)
      assert(said.include?("malloc is not sampled: this Ruby was started without malloc sampling"), said)
      assert(printed("start", text, "interval=2k").include?("one sample per 2 KiB"))
      fails(1, /interval=foo: must be a size/, "start", text, "interval=foo")
      assert(printed("start", text, "quiet").include?("one sample per 2 KiB,"))
      assert(printed("start", text, "interval=auto").match?(/one sample per \S+ KiB \(auto\),/))
      printed("start", text, "interval=2k")
      fails(2, /interval: the value is missing; write NAME=VALUE/, "start", text, "interval")
      fails(2, /off: cannot be combined with other settings; run heapsample start PID off/, "start", text, "off,interval=8k")
      fails(2, /standby: can only be set when Ruby starts/, "start", text, "standby")
      fails(2, /intervall: no such setting; did you mean interval\?/, "start", text, "intervall=2k")
      fails(2, /colour: no such setting; settings: interval, output, /, "start", text, "colour=2")
      fails(2, /deploy can only be set when Ruby starts/, "start", text, "deploy=v2")
    end
  end

  test "reports read it as they read a file" do
    sampled do |_, text|
      sleep 1
      top = JSON.parse(printed("top", text, "--diagnose", "50%", "--by", "class", "--json"))
      assert(top.to_s.include?("Ticket"), top.to_s[0, 500])
      assert(printed("diagnose", "--snapshot", text).include?("Ticket"))
      assert(printed("diagnose", "--about", text).include?("one sample per 2 KiB"))
      folder do |dir|
        file = File.join(dir, "now.pb.gz")
        printed("convert", text, "-o", file)
        assert(printed("top", file, "--by", "class").include?("Ticket"))
        page = File.join(dir, "now.html")
        printed("page", text, "-o", page, env: with_view(dir))
        assert(File.size(page) > 100_000)
      end
    end
  end

  test "diff shows what grows from now on" do
    sampled do |_, text|
      with_seconds(1, 8, 30) do |seconds|
        grown = JSON.parse(printed("diff", text, "--seconds", seconds.to_s, "--diagnose", "50%", "--by", "class", "--json"))
        assert(grown.fetch("rows").any? { |row| row["change"] == "grown" && row.to_s.include?("Ticket") }, grown["rows"].first(3).to_s)
      end
    end
  end

  test "ps and watch say where it is, and what grows since one looks" do
    sampled do |_, text|
      assert(printed("ps", text).match?(/live slots$/))
      assert(JSON.parse(printed("ps", text, "--json")).fetch("account").fetch("rss_bytes") > 0)
      fails(2, /--seconds is for the list of processes/, "ps", text, "--seconds", "3")
      with_seconds(6, 30) do |seconds|
        looks = printed("watch", text, "--json", "--every", "0.2", "--seconds", seconds.to_s).lines.map { |line| JSON.parse(line) }
        assert(looks.size.between?(2, (5 * seconds) + 1), looks.size.to_s)
        assert(looks.last["grew_bytes"] > 0, looks.last.to_s)
      end
      # What grows is known when GC has marked it, which takes longer on a busy machine.
      IO.popen([CLEAN, READER, "--disable=gems", EXE, "watch", text, "--json", "--every", "0.2", "--seconds", "300"]) do |io|
        look = nil
        assert(io.each_line.any? { |line| (look = JSON.parse(line))["grown"].any? { |row| row["line"].include?("-e:2") } }, look.to_s)
        Process.kill(:TERM, io.pid)
      end
    end
  end

  test "the diagnosis of it names the line" do
    sampled do |_, text|
      # In nine seconds there are seven profiles and so seven points, and a verdict needs 17: on a busy machine each of the
      # profiles may come so late that there are more points. The line is known either way.
      with_seconds(9, 22, 60) do |seconds|
        said = printed(text, "--seconds", seconds.to_s, "--diagnose", "50%").gsub(/\s+/, " ")
        assert(said.match?(/(?:Cannot tell: \d+ of 17 major GCs.*The line that grew most so far is|Leak \(\w+\): .*|Grows \(certain\): .*) -e:2 /), said)
      end
    end
  end

  test "nothing of that is wider than 80 columns" do
    sampled do |_, text|
      [["ps"], ["ps", text], ["top", text], ["watch", text, "--seconds", "0.5"], ["diff", text, "--seconds", "0.3"]].each do |arguments|
        plain = on_terminal(*arguments, columns: 80).gsub(/\e\[[?\d]*[a-zA-Z]/, "")
        # Not what is said of processes of other tests that do not answer.
        wide = plain.split(/[\r\n]+/).select { |line| line.length > 80 && !line.start_with?("heapsample: process ") }
        assert_equal([arguments, []], [arguments, wide])
      end
    end
  end

  test "why shows what retains it now" do
    sampled do |_, text|
      kept = printed("why", text, "--class", "Ticket", "--diagnose", "50%")
      assert(kept.match?(/The heap walk visited [\d,]+ objects/) && kept.include?("Ticket"), kept)
      assert(printed("why", text, "--format", "folded", "--diagnose", "50%").include?("Ticket"))
    end
  end

  test "what takes a series looks for a while" do
    sampled do |pid, text|
      assert(printed("line", "--seconds", "1", "--", "-e:2", text).include?("2 profiles"))
      assert(printed("diagnose", text, "--seconds", "1").start_with?("Diagnosis: process #{pid}, a program that grows, 2 profiles"))
      fails(2, /only one running process can be read at a time/, "line", "x.rb:1", text, text)
      folder { |dir| fails(2, /name one or the other/, "diagnose", text, dir) }
    end
  end

  test "a look that Ctrl-C ends says what is known so far, with status 130" do
    sampled do |pid, text|
      # Three profiles.
      with_seconds(8, 24, 50) do |seconds|
        Open3.popen3(CLEAN, READER, "--disable=gems", EXE, text, "--seconds", "60") do |_, out, err, looking|
          sleep seconds
          Process.kill(:INT, looking.pid)
          assert_equal([130, true], [looking.value.exitstatus, out.read.start_with?("Diagnosis: process #{pid}, ")])
          assert(err.read.match?(/\Aheapsample: stopped after \d+\.\d s of 60 s\n\z/))
        end
      end
      with_seconds(3, 12, 50) do |seconds|
        Open3.popen3(CLEAN, READER, "--disable=gems", EXE, "diff", text, "--seconds", "60") do |_, out, _, looking|
          sleep seconds
          Process.kill(:INT, looking.pid)
          assert_equal([130, true], [looking.value.exitstatus, out.read.start_with?("Growth of live memory")])
        end
      end
    end
  end

  # What ps prints and reports of a process, which was started +seconds+ ago by its socket.
  def row_of(pid, **changes)
    process = HeapSample::LiveProcess.new(pid)
    about = process.hello.merge(process_id: pid, **changes)
    HeapSample::Tool::Commands::Ps.new.then { |ps| [ps.send(:row, HeapSample::Layout.new, about), ps.send(:from_start?, process, about)] }
  end

  test "ps does not show what a program has loaded as growth" do
    hour = 3600 * 1_000_000_000
    IO.popen([{"RUBY_HEAP_SAMPLE" => "output=none", "XDG_RUNTIME_DIR" => nil}, OURS, "--disable=gems", "-e", "$kept = Array.new(200_000) { |number| number.to_s }; puts; $stdout.flush; sleep"]) do |io|
      io.gets
      row, from_start = row_of(io.pid, sampled_from_start: true)
      assert_equal([true, "-", "-"], [from_start, *row.values_at(3, 4)])
      row, = row_of(io.pid, sampled_from_start: false)
      assert(row[3].match?(/\A\+\d+\.\d MiB\z/), row.inspect)
      later = HeapSample::LiveProcess.new(io.pid).hello[:taken_ns] + hour
      row, = row_of(io.pid, sampled_from_start: true, taken_ns: later)
      assert(row[3].match?(/\A\+\d+\.\d MiB\*\z/) && row[4].start_with?("1 h"), row.inspect)
      _, from_start = row_of(io.pid, started_ns: later)
      assert_equal(false, from_start)
      assert_equal(true, JSON.parse(heapsample("ps", "--json").out).find { |one| one["process_id"] == io.pid }["sampled_from_start"])
    ensure
      Process.kill(:KILL, io.pid)
    end
  end

  test "start leaves no profile that nobody asked for in the working directory" do
    Dir.chdir(dir) do
      growing('puts; $stdout.flush; $stdin.gets; sleep 1') do |pid, text|
        printed("start", text)
        Process.kill(:TERM, pid)
        sleep 0.05 while File.exist?("/proc/#{pid}/exe") && (File.readlink("/proc/#{pid}/exe") rescue false)
      end
    end
    assert_equal([], Dir.children(dir))
  end

  test "several are watched in the same time, and ps has the first line of each" do
    sampled do |pid, text|
      growing do |other|
        printed("start", other.to_s, "interval=4k")
        # Both have one title, so they are judged together, where there were two major GCs in each.
        with_seconds(3, 12, 48) do |seconds|
          said = printed(text, other.to_s, "--seconds", seconds.to_s, "--diagnose", "50%")
          profiles = 2 * ((seconds / 1.5).floor + 1)
          assert(said.start_with?("Diagnosis: 2 processes (#{pid}, #{other}), a program that grows, #{profiles} profiles"), said)
        end
        lines = heapsample("ps", "--seconds", "3").out            # others may end meanwhile, which it says on stderr
        [pid, other].each { |one| assert(lines.match?(/^#{one}: [A-Z]/), lines) }
      end
    end
  end

  test "where sampling begins anew meanwhile, what is before it is left out" do
    growing(RESTARTING) do |other|
      # It may be asked when it is not sampled.
      result = nil
      20.times do
        result = heapsample(other.to_s, "--seconds", "2")
        break if result.status.zero? && result.err.include?("sampling was restarted")
      end
      assert_equal([0, true], [result.status, result.out.start_with?("Diagnosis: process #{other}")])
      assert(result.err.match?(/^heapsample: process #{other}: sampling was restarted; earlier profiles are left out$/), result.err)
    end
  end

  # As the key does; not on a terminal, since others' processes come and go here.
  test "the next process, and the first again" do
    sampled do |pid|
      growing do |other|
        printed("start", other.to_s)
        all = HeapSample::LiveProcess.method(:all)
        list = [pid, other].sort.map { |one| HeapSample::LiveProcess.new(one) }
        HeapSample::LiveProcess.singleton_class.remove_method(:all)
        HeapSample::LiveProcess.define_singleton_method(:all) { list }
        watching = HeapSample::Tool::Watching.new(HeapSample::LiveProcess.new(pid))
        assert_equal(["process #{pid}", "process #{other}", "process #{pid}"], Array.new(3) { watching.look.to_h[:process].tap { watching.switch } })
      ensure
        if all
          HeapSample::LiveProcess.singleton_class.remove_method(:all)
          HeapSample::LiveProcess.define_singleton_method(:all, all)
        end
      end
    end
  end

  test "keys: sort, from now on, pause, end" do
    # One of its own: the other one may have grown to its end.
    growing do |other|
      printed("start", other.to_s, "interval=2k")
      PTY.spawn({**CLEAN, "TERM" => "xterm"}, READER, "--disable=gems", EXE, "watch", other.to_s, "--every", "0.2") do |screen, keys, watcher|
        seen = +""
        deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 300
        # What the pattern's group has found.
        wait = lambda do |pattern|
          until (found = pattern.match(seen.scrub))
            late = Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline || !screen.wait_readable(60)
            raise "no #{pattern} in time: #{seen[-2000..]}" if late

            seen << screen.readpartial(4096).force_encoding("UTF-8")
          end
          seen.clear
          found[1]
        rescue Errno::EIO
          raise "it ended: #{seen}"
        end
        wait[/n next process · q quit/]
        wait[%r{MiB/s\s+-e:2}]
        keys.write("s")
        wait[%r{[MK]iB/s\s+-e:}]
        keys.write("p")
        keys.write("p")
        wait[/process #{other}: RSS/]
        lasts = wait[/ in (\d+\.\d) s/].to_f
        keys.write("r")
        sleep 0.001 until wait[/ in (\d+\.\d) s/].to_f < lasts
        keys.write("q")
        begin
          loop { seen << screen.readpartial(4096) }
        rescue EOFError, Errno::EIO
          nil
        end
        Process.wait(watcher)
        assert_equal([0, true], [$?.exitstatus, seen.end_with?("\e[?25h\e[?1049l")])
      end
    end
  end

  test "start off ends it" do
    sampled do |pid, text|
      assert(printed("start", text, "off").include?("process #{pid}: not sampled"))
      fails(1, /not sampled/, "top", text)
    end
  end

  test "a program that means something else by the signal does not get it" do
    script = 'use POSIX; $| = 1; for (1..64) { sigaction($_, POSIX::SigAction->new(sub { print "got $_[0]\\n"; exit })) } print "ready\\n"; sleep 60'
    IO.popen(["perl", "-e", script]) do |io|
      assert_equal("ready\n", io.gets)
      assert_equal(1, File.read("/proc/#{io.pid}/status")[/^SigCgt:\s*(\h+)/, 1].to_i(16)[44])
      fails(1, /process #{io.pid}: not a Ruby with the heap sampler/, "top", io.pid.to_s)
      refute(heapsample("ps").out.include?("perl"))
      assert_nil(io.wait_readable(0.1))
    ensure
      Process.kill(:KILL, io.pid)
    end
  end

  test "a program that a process runs after exec is asked, although the socket of the program before is still there" do
    program = '$stdout.sync = true; puts "ready"; $stdin.gets; exec(*ARGV, "$stdout.sync = true; puts %q(second); sleep")'
    Dir.mktmpdir("exec", "/tmp") do |dir|
      env = {"RUBY_HEAP_SAMPLE" => nil, "XDG_RUNTIME_DIR" => nil, "TMPDIR" => dir}
      IO.popen([env, OURS, "--disable=gems", "-e", program, OURS, "--disable=gems", "-e"], "r+") do |io|
        io.gets
        printed("start", io.pid.to_s)
        io.puts
        assert_equal("second\n", io.gets)
        assert_equal(1, Dir["#{dir}/ruby-heap-*/*.sock"].size)
        assert(printed("start", io.pid.to_s, "interval=8k").include?("one sample per 8 KiB"))
      ensure
        Process.kill(:KILL, io.pid)
      end
    end
  end

  test "a process that ends in the middle is said to have ended" do
    victim = IO.popen([{"RUBY_HEAP_SAMPLE" => "output=none"}, OURS, "--disable=gems", "-e", "puts :ready; $stdout.flush; sleep"])
    victim.gets
    Open3.popen3(CLEAN, READER, "-w", "--disable=gems", EXE, "watch", victim.pid.to_s, "--every", "0.1", "--json") do |_, out, err, watcher|
      JSON.parse(out.gets)
      Process.kill(:KILL, victim.pid)
      out.read
      assert_equal(1, watcher.value.exitstatus)
      said = err.read
      assert(said.match?(/\Aheapsample: process #{victim.pid}: (no process listens at|(it|the process) has ended)/), said)
    end
  ensure
    victim.close
  end

  test "who is no such process, or no Ruby of ours, is named" do
    fails(1, /process 999999999: no such process/, "top", "999999999")
    sleeper = spawn("sleep", "60")
    fails(1, /process #{sleeper}: not a Ruby with the heap sampler/, "ps", sleeper.to_s)
  ensure
    Process.kill(:KILL, sleeper)
    Process.wait(sleeper)
  end

  # While it runs.
  def running(ruby, settings)
    IO.popen([{**CLEAN, "RUBY_HEAP_SAMPLE" => settings}, ruby, "--disable=gems", "-e", "puts; $stdout.flush; sleep"]) do |io|
      io.gets
      yield io.pid
    ensure
      Process.kill(:KILL, io.pid)
    end
  end

  test "a Ruby without the sampler is told from one without a control socket", missing: NO_DEBIAN do
    running(DEBIAN, nil) { |pid| fails(1, /process #{pid}: a Ruby without the heap sampler$/, "top", pid.to_s) }
    running(OURS, "socket=off,output=none") do |pid|
      fails(1, /process #{pid}: this Ruby has the heap sampler, but no control socket; start it without socket=off$/, "top", pid.to_s)
    end
  end
end
