# frozen_string_literal: false
require 'test/unit'
require 'tmpdir'
require 'socket'

# The sampler leaves its host process alone while clients ask it: its descriptors, exceptions, finalizers, time and end.
class TestHeapSamplerGuest < Test::Unit::TestCase
  PRELUDE = <<~'RUBY'
    require "socket"
    $stdout.sync = true
    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    SOCKET = Dir["#{ENV["TMPDIR"]}/ruby-heap-*/#{$$}-*.sock"].first
    def ask(line) = UNIXSocket.open(SOCKET) { |socket| socket.write("heap-sample/1 #{line}\n"); socket.read }
    # Children that ask for these in turn until they are killed.
    def askers(*lines, count: 1)
      pids = Array.new(count) { fork { loop { lines.each { |line| ask(line) } } rescue exit!(0) } }
      yield
    ensure
      pids.each { |pid| Process.kill(:KILL, pid); Process.wait(pid) }
    end
    def descriptors = Dir.children("/proc/self/fd").map(&:to_i).sort.filter_map { |fd| File.readlink("/proc/self/fd/#{fd}")[/\A[a-z_]+/] && fd rescue nil }
  RUBY

  def setup
    @dir = Dir.mktmpdir("guest", "/tmp")   # a path of a socket has 107 bytes at most
  end

  def teardown
    FileUtils.rm_rf(@dir)
  end

  # A sanitizer writes its reports to descriptor 2 of whatever thread it is in (base/descriptors.c).
  def omit_where_the_table_is_shared
    omit "under a sanitizer our threads share the table of descriptors" if RbConfig::CONFIG.values_at("cflags", "CFLAGS").join(" ").match?(/-fsanitize=(?:address|thread)/)
  end

  # What the script prints. `settings`: nil: without sampling.
  def host(script, settings: "output=none", env: {}, timeout: 120)
    env = {"TMPDIR" => @dir, "XDG_RUNTIME_DIR" => nil, "RUBY_HEAP_SAMPLE" => settings, **env}
    out = IO.popen([env, EnvUtil.rubybin, "-W0", "--disable=gems", "-e", PRELUDE + script, err: [:child, :out]], "r+") do |io|
      io.close_write
      Thread.new { sleep EnvUtil.apply_timeout_scale(timeout); Process.kill(:KILL, io.pid) rescue nil }.then { |guard| io.read.tap { guard.kill } }
    end
    out
  end

  def test_the_program_sees_no_descriptor_of_ours
    omit_where_the_table_is_shared
    script = <<~'RUBY'
      slow = Array.new(5) { UNIXSocket.new(SOCKET) } if SOCKET
      ask("profile gc=1 why=1 diagnose=50%25") if SOCKET
      slow&.each(&:close)
      p descriptors
    RUBY
    assert_equal host(script, settings: nil), host(script, settings: "every=1,output=#{@dir}/,quiet")
  end

  # A daemon closes all descriptors. Their numbers are then used by its connections.
  def test_a_program_that_closes_all_descriptors
    omit_where_the_table_is_shared
    out = host(<<~'RUBY')
      path = SOCKET
      3.upto(1024) { |fd| IO.for_fd(fd).close rescue nil }
      pairs = Array.new(20) { UNIXSocket.pair }
      asked = Thread.new { Array.new(20) { ask("profile gc=1 diagnose=50%25") } }
      wrong = 0
      200.times do |i|
        pairs.each { |near, far| far.write("%08d" % i) }
        pairs.each { |near, far| wrong += 1 if near.wait_readable(5).nil? || near.read_nonblock(100) != "%08d" % i }
      end
      p wrong, asked.value.all? { |answer| answer.start_with?("heap-sample/1 ok pb.gz") }
      p Process.wait2(fork { exit!(pairs.flatten.all? { |io| File.stat("/proc/self/fd/#{io.fileno}").socket? rescue false }) })[1].success?
    RUBY
    assert_equal "0\ntrue\ntrue\n", out
  end

  # The signal opens the socket at any moment, also while the program forks.
  def test_no_child_inherits_a_descriptor
    omit_where_the_table_is_shared
    out = host(<<~'RUBY', settings: nil)
      sender = fork { loop { Process.kill(45, Process.ppid); Dir["#{ENV["TMPDIR"]}/ruby-heap-*/*.sock"].each { |path| File.unlink(path) rescue nil }; sleep 0.002 } }
      own = descriptors.size
      p Array.new(100) { Process.wait2(fork { exit!(descriptors.size == own) })[1].success? }.tally
      Process.kill(:KILL, sender)
    RUBY
    assert_equal "{true => 100}\n", out
  end

  # They meet the thread that is borrowed for start and stop; each must arrive in the program.
  def test_exceptions_of_the_program_arrive
    out = host(<<~'RUBY')
      class Wanted < StandardError
        def message = raise("no message")
      end
      $ballast = Array.new(100) { "x" * 1_000_000 }
      lost = Hash.new(0)
      askers("stop", "start interval=1m malloc=off", "set interval=2m", "profile gc=1 diagnose=50%25") do
        150.times do |i|
          runs = false
          thread = Thread.new { begin; loop { runs = 100.times { |n| n.to_s } }; rescue Wanted; :raised; end }
          Thread.pass until runs          # until then the exception would meet no rescue
          sleep rand * 0.01
          i.even? ? thread.kill : thread.raise(Wanted)
          lost[i.even?] += 1 unless thread.join(20)
        end
      end
      p lost, ask("hello").start_with?("heap-sample/1 ok")
    RUBY
    assert_equal "{}\ntrue\n", out
  end

  # A finalizer is Ruby code: it does not run on behalf of a client.
  def test_a_full_gc_runs_no_finalizer
    out = host(<<~'RUBY')
      100.times { ObjectSpace.define_finalizer(Object.new, proc { sleep 0.1 }) }
      answer = nil
      asker = fork { began = now; ask("profile gc=1 diagnose=50%25"); exit!(now - began < 5) }
      Process.wait(asker)
      p $?.success?
    RUBY
    assert_equal "true\n", out
  end

  # Three clients that ask for nothing but full GCs get together the share that they name.
  def test_full_gcs_on_request_take_their_share_of_the_time
    out = host(<<~'RUBY')
      $kept = Array.new(1_000_000) { |i| [i] }
      GC.measure_total_time = true
      took = ->(&work) { before = GC.total_time; work.call; (GC.total_time - before) / 1e9 }
      one = took.call { GC.start }
      began, count = now, GC.count
      all = took.call { askers("profile gc=1 diagnose=10%25", count: 3) { sleep [6, 20 * one].max } }
      p GC.count > count, (all - one) / (now - began)
    RUBY
    # One may have begun with little of the share left; in a check build it takes long.
    some, share = out.lines
    assert_equal "true\n", some
    assert_operator share.to_f, :<, 0.2, out
  end

  # The thread of periodic profiles is stopped before a setting of files is applied; where it is refused the thread goes on.
  def test_a_refused_setting_leaves_periodic_profiles
    out = host(<<~'RUBY', settings: "every=1,quiet,output=#{@dir}/%t.pb.gz")
      written = -> { Dir["#{ENV["TMPDIR"]}/*.pb.gz"].size }
      puts ask("set every=x").lines.first[/\w+ text/]
      before = written.call
      ends = now + 60
      sleep 0.05 until written.call > before + 1 || now > ends
      p written.call > before + 1
      exit!
    RUBY
    assert_equal "error text\ntrue\n", out
  end

  # They read no answer, send half a request, and wait for a walk.
  def test_the_process_ends_although_clients_are_there
    script = <<~'RUBY'
      $kept = Array.new(1_000_000) { [1] }
      if SOCKET
        $guests = Array.new(25) { |i| UNIXSocket.new(SOCKET).tap { |guest| guest.write(i.even? ? "heap-sample/1 pro" : "heap-sample/1 profile\n") } }
        $guests << UNIXSocket.new(SOCKET).tap { |guest| guest.write("heap-sample/1 profile why=1 diagnose=50%25\n") }
        sleep 0.3
      end
      $stdout.puts now
      Process.kill(:TERM, $$)
      sleep
    RUBY
    took = lambda do |settings|
      out = host(script, settings: settings)
      Process.clock_gettime(Process::CLOCK_MONOTONIC) - Float(out.lines.first)
    end
    # On a busy machine one of five may be held up by others.
    off, on = took.call(nil), nil
    5.times { (on = took.call("interval=16k,output=none")) < off + 2.5 ? break : next }
    assert_operator on, :<, off + 2.5
  end

  # While the service ends the main thread keeps the GVL: another thread does not see that it waits.
  def test_no_other_thread_runs_while_the_process_ends
    script = <<~'RUBY'
      main, begun = Thread.current, Thread::Queue.new
      Thread.new do
        begun.push(true)
        Thread.pass until main.stop?
        puts "ran"
      ensure
        puts "#{main.alive?} #{main.status} #{Thread.current.status}"
      end
      begun.pop
      main.wakeup rescue nil
    RUBY
    stock = "false false aborting\n"
    assert_equal [stock], Array.new(5) { host(script, settings: nil) }.uniq
    assert_operator Array.new(20) { host(script) }.count(stock), :>=, 15        # on a busy machine the wait may be longer
    assert_equal [true], Array.new(5) { host("SOCKET && puts(File.socket?(SOCKET))\n" + script).start_with?("true\n") }.uniq
    assert_empty Dir["#{@dir}/ruby-heap-*/*.sock"]
  end
end
