# frozen_string_literal: false
require 'test/unit'
require 'tmpdir'
require 'socket'

# A running process is asked over its socket, whatever it does.
class TestHeapSamplerSocket < Test::Unit::TestCase
  PRELUDE = <<~'RUBY'
    $stdout.sync = true
    def ready = $stdout.puts("ready")
  RUBY

  def setup
    @dir = Dir.mktmpdir("ask", "/tmp")     # a path of a socket has 107 bytes at most
  end

  def teardown
    FileUtils.rm_rf(@dir)
  end

  # Runs a script, and yields its process, as who asks sees it, once it has said "ready".
  # +hidden+: no other program finds the socket, such as an agent of another suite, which would be a client, too: for that
  # program the folder /proc/self/cwd is its own one.
  def running(script, settings: nil, env: {}, hidden: false)
    require "heapsample"
    env = {"TMPDIR" => hidden ? "/proc/self/cwd" : @dir, "XDG_RUNTIME_DIR" => nil, "RUBY_HEAP_SAMPLE" => settings, **env}
    IO.popen([env, EnvUtil.rubybin, "-W0", "--disable=gems", "-e", PRELUDE + script, err: [:child, :out], chdir: hidden ? @dir : "."], "r+") do |io|
      line = io.gets
      assert_equal "ready\n", line, line
      # An emulator makes up when its program was started, which is part of the socket's name: LiveProcess does not find the socket.
      yield HeapSample::LiveProcess.new(io.pid, socket: (sockets[0] if hidden || ENV["EMULATED"])), io
    ensure
      Process.kill(:KILL, io.pid) rescue nil
    end
  end

  def sockets = Dir.glob("#{@dir}/ruby-heap-*/*.sock")

  def seconds
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    yield
    Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
  end

  def test_a_profile_of_what_it_holds
    running("$kept = Array.new(50_000) { Object.new }; ready; sleep", settings: "interval=256,output=none") do |process|
      assert_equal [1], sockets.map { |path| File.stat(path).mode & 0o077 == 0 ? 1 : 0 }
      assert_equal 0o700, File.stat(File.dirname(sockets.first)).mode & 0o777
      hello = process.hello
      assert_equal [process.pid, true, 256], hello.values_at(:process_id, :sampling, :interval)
      assert_operator hello[:account].rss, :>, 1 << 20
      assert_equal 1, process.memory[:alive].threads.count
      objects = process.profile(gc: true, diagnose: "50%").rows.select { |row| row.class_name == "Object" }.sum { |row| row.inuse.objects }
      assert_in_delta 50_000, objects, 10_000
    end
  end

  # It was not prepared: a signal opens the socket, and slots are sampled from then on.
  # A look at a process must not leave a file in its folder.
  def test_start_from_outside_writes_no_file_unless_output_is_given
    folder = Dir.mktmpdir
    script = "Dir.chdir(#{folder.dump}); $kept = Array.new(1000) { Object.new }; ready; $stdin.gets"
    [nil, "standby"].each do |settings|
      running(script, settings: settings) do |process, io|
        process.start(interval: "64", every: "1", diagnose: "1%", "at-rss": "1m", quiet: "on")
        process.set(interval: "128")
        sleep 2.5               # nothing is to happen meanwhile
        io.close
        assert_empty Dir.children(folder)
      end
      running(script, settings: settings) do |process, io|
        process.start(interval: "64", output: "#{folder}/x.pb", quiet: "on")
        io.close
        assert_equal ["x.pb"], Dir.children(folder)
        File.unlink("#{folder}/x.pb")
      end
    end
    running(script, settings: "standby,output=#{folder}/y.pb") do |process, io|
      process.start(interval: "64", quiet: "on")
      io.close
      assert_equal ["y.pb"], Dir.children(folder), "where its own settings name a place"
    end
  ensure
    FileUtils.rm_rf(folder)
  end

  def test_one_that_was_started_with_no_setting
    running(<<~'RUBY') do |process, io|
      ready
      $kept = []
      $stdin.gets
      $kept = Array.new(50_000) { Object.new }
      ready
      sleep
    RUBY
      assert_empty sockets
      assert_equal false, process.hello[:sampling]
      assert_raise_with_message(HeapSample::LiveSocket::Declined, /not sampled/) { process.profile }
      said = process.start(interval: "256")
      assert_equal [true, 256], said.values_at(:sampling, :interval)
      assert_match(/started without malloc sampling|built without jemalloc/, said[:malloc]["missing"])
      io.puts
      assert_equal "ready\n", io.gets
      assert_in_delta 50_000, process.profile(gc: true, diagnose: "50%").rows.sum { |row| row.class_name == "Object" ? row.inuse.objects : 0 }, 10_000
      assert_equal false, process.stop[:sampling]
    end
  end

  # All threads sleep: one is woken, for a moment, and a child walks.
  def test_who_keeps_it
    running("class Ticket; KEPT = Array.new(50_000) { new }; end; ready; p sleep", settings: "interval=4k,output=none") do |process, io|
      kept = process.profile(gc: true, why: true, diagnose: "50%").why
      assert_nil kept.reason
      assert_match(/KEPT/, kept.to_s)
      assert_nil process.profile.holders
      assert_nil io.wait_readable(0.2), "it sleeps on"
    end
  end

  # Nothing is forced without a share. With one the process decides what it pays for.
  def test_a_share_of_the_run_time
    running("$kept = Array.new(50_000) { Object.new }; ready; sleep", settings: "interval=4k,output=none", hidden: true) do |process|
      process.profile
      process.profile(diagnose: "off")
      [{gc: true}, {why: true}, {gc: true, why: true, diagnose: "off"}].each do |asked|
        assert_raise_with_message(HeapSample::LiveSocket::Declined, /add the share of the run time/) { process.profile(**asked) }
      end
      majors = process.profile.info
      assert_equal [0, 0, 0.0], [majors.forced.gcs, majors.forced.walks, majors.forced.longest_stop]
      profile = nil
      600.times { break if (profile = process.profile(diagnose: "50%")).holders; sleep 0.1 }
      forced = profile.info.forced
      assert_match(/kept/, profile.why.to_s)
      assert_operator forced.gcs, :>=, 1
      assert_equal 1, forced.walks
      assert_equal majors.gc_major + forced.gcs, profile.info.gc_major
      assert_operator forced.longest_stop, :>=, profile.info.walk.hold_up / 2
      assert_operator forced.share, :<=, 0.5
      assert_raise_with_message(HeapSample::LiveSocket::Declined, /try again in \d+ s/) { process.profile(why: true, diagnose: "0.001%") }
      again = process.profile(diagnose: "0.001%").info
      assert_equal [forced.gcs, 1, nil], [again.forced.gcs, again.forced.walks, again.walk]
    end
  end

  def test_a_share_gives_no_second_walk_until_memory_has_grown
    running(<<~'RUBY', settings: "interval=64k,output=none") do |process, io|
      $kept = Array.new(10_000) { Object.new }
      ready
      $stdin.gets
      $kept << Array.new(400_000) { "retained " * 10 }
      ready
      sleep
    RUBY
      ask = -> { process.profile(diagnose: "50%").info }
      # On a busy machine a walk is refused while its stop would be long.
      walked = -> { 300.times { walk = ask.call.walk; break true if walk && !walk.refused; sleep 0.1 } }
      assert_equal true, walked.call
      sleep 0.1 until process.profile.info.forced.share < 0.3
      3.times { assert_nil ask.call.walk }
      io.puts
      io.gets
      assert_equal true, walked.call
    end
  end

  def test_others_are_answered_during_a_walk
    running("$kept = Array.new(1_500_000) { Object.new }; ready; sleep", settings: "interval=64k,output=none", hidden: true) do |process|
      asked = Thread.new { process.profile(why: true, diagnose: "50%") }
      sleep 0.01 until walking?(process.pid)
      # So many in the time of one walk that none of them waited for its end.
      times = []
      times << seconds { process.hello } while walking?(process.pid)
      assert_operator times.size, :>, 3, times.inspect
      assert_operator times.sort[times.size / 2], :<, [0.1, times.sum / 4].max, times.inspect
      assert_nil asked.value.info.walk.refused
    end
  end

  # The child of a walk is unseen by wait(2), but a child it is.
  def walking?(pid, besides: 0)
    Dir.glob("/proc/#{pid}/task/*/children").sum { |path| File.read(path).split.size rescue 0 } > besides
  end

  def test_fork_and_exit_in_the_middle_of_a_walk
    running(<<~'RUBY', settings: "interval=64k,output=none") do |process, io|
      $kept = Array.new(1_500_000) { Object.new }
      ready
      $stdin.gets
      child = fork { $stdin.gets; exit }
      puts child
      $stdin.gets
      exit
    RUBY
      asked = Thread.new { process.profile(why: true, diagnose: "50%") }
      sleep 0.01 until walking?(process.pid)
      io.puts
      child = HeapSample::LiveProcess.new(io.gets.to_i)
      sleep 0.05 until child.listens?
      assert_equal true, child.hello[:sampling]
      assert_nil asked.value.info.walk.refused
      Process.kill(:KILL, child.pid)

      asked = Thread.new { assert_raise(HeapSample::LiveSocket::Refused) { process.profile(why: true, diagnose: "50%") } }
      sleep 0.01 until walking?(process.pid, besides: 1)
      assert_operator seconds { io.puts; io.read }, :<, 20
      assert_match(/ended or closed the connection/, asked.value.message)
      assert_empty sockets.grep(/\/#{process.pid}-/)
    end
  end

  # Descriptors of all threads: the thread of the sampler has a table of its own.
  def files(process) = Dir.glob("/proc/#{process.pid}/task/*/fd/*").size

  # A connection is closed a moment after its answer was read.
  def files_at_rest(process) = Array.new(10) { sleep 0.05; files(process) }.min

  def assert_no_more_files(most, process)
    600.times { files(process) > most ? sleep(0.1) : break }
    assert_operator files(process), :<=, most
  end

  # Files, sockets and memory are as before.
  def test_a_thousand_requests
    running("$kept = Array.new(20_000) { Object.new }; ready; sleep", settings: "interval=16k,output=none", hidden: true) do |process|
      ask = ->(count) { count.times { |i| i.even? ? process.profile : (i % 4 == 1 ? process.hello : process.memory) } }
      ask[100]
      before = process.profile
      files = files_at_rest(process)
      ask[1000]
      after = process.profile
      assert_no_more_files files, process
      assert_operator after.info.own_bytes - before.info.own_bytes, :<, 64 << 10
      growth = after.info.account.rss - before.info.account.rss
      assert_operator growth, :<, 2 << 20 if after.info.account.allocator.start_with?("jemalloc") # AddressSanitizer keeps what is freed
    end
  end

  # It samples nothing, and lacks nothing when it is started.
  def test_standby
    running("ready; $stdin.gets; $kept = Array.new(200) { |i| i.to_s * 20_000 }; ready; sleep", settings: "standby,deploy=v1") do |process, io|
      assert_equal 1, sockets.size
      hello = process.hello
      omit "malloc cannot be sampled here" if hello[:malloc]["state"] == "missing"
      assert_equal [false, "standby", "v1"], [hello[:sampling], hello[:malloc]["state"], hello[:deploy]]
      assert_equal "on", process.start(interval: "4k", malloc: "16k")[:malloc]["state"]
      io.puts
      assert_equal "ready\n", io.gets
      profile = process.profile(gc: true, diagnose: "50%")
      assert_in_delta 10 << 20, profile.rows.sum { |row| row.malloc? ? row.inuse.space : 0 }, 5 << 20
      assert_equal ["v1", Socket.gethostname], [profile.info.deploy, profile.info.host]
    end
  end

  # Another process listens at its address: it is not asked.
  def test_a_socket_of_somebody_else
    running("ready; sleep", settings: "output=none") do |process|
      path = process.socket
      File.unlink(path)
      UNIXServer.open(path) do
        error = assert_raise(HeapSample::LiveSocket::Refused) { HeapSample::LiveProcess.new(process.pid).hello }
        assert_match(/another process \(#{Process.pid}\) listens at its address/, error.message)
      end
    end
  end

  # A process that had the number before has left its socket behind.
  def test_a_number_that_is_used_again
    running("ready; sleep", settings: "output=none") do |process|
      File.write("#{@dir}/ruby-heap-#{Process.euid}/#{process.pid}-1.sock", "")
      UNIXServer.open("#{@dir}/ruby-heap-#{Process.euid}/#{process.pid}-2.sock") { assert_equal process.pid, process.hello[:process_id] }
    end
  end

  # Who asks is another user: one sentence there, nothing here.
  def test_another_user
    omit "only root can be somebody else" unless Process.euid.zero?
    [nil, "output=none"].each do |settings|
      running("ready; puts $stdin.gets", settings: settings) do |process, io|
        process.outline
        refused = HeapSample::LiveSocket::Refused
        HeapSample::SamplerProgram.of?("/proc/#{process.pid}")
        said = IO.popen("-") do |answer|
          next answer.read if answer
          Process::Sys.setresgid(65_534, 65_534, 65_534) if Process::Sys.respond_to?(:setresgid)
          Process::Sys.setresuid(65_534, 65_534, 65_534)
          begin
            HeapSample::LiveProcess.new(process.pid).hello
            print "answered"
          rescue refused => e
            print e.message
          end
          exit!
        end
        assert_equal "process #{process.pid}: it belongs to another user; run this as that user or as root", said
        io.puts "goes on"
        assert_equal "goes on\n", io.gets
      end
    end
  end

  def test_one_that_is_stopped
    running("ready; sleep", settings: "interval=4k,output=none") do |process, io|
      Process.kill(:STOP, io.pid)
      # One thread takes the signal, and stops the others.
      sleep 0.01 until Dir.glob("/proc/#{io.pid}/task/*/stat").all? { |stat| (File.read(stat) rescue ") T 1").match?(/\) T [^)]*\z/) }
      took = seconds { assert_raise_with_message(HeapSample::LiveSocket::Refused, /is stopped .*kill -CONT #{io.pid}/) { process.hello } }
      assert_operator took, :<, 30
      Process.kill(:CONT, io.pid)
      assert_equal true, process.hello[:sampling]
    end
  end

  # What needs Ruby code waits until it has come back. There is no other thread that could serve it.
  def test_near_the_end_of_a_machine_stack
    begin
      require "-test-/heap_sampler_holders"
    rescue LoadError
      omit "no extension"
    end
    folder = $LOADED_FEATURES.grep(%r{/-test-/heap_sampler_holders}).first[%r{\A(.+)/-test-/}, 1]
    running(<<~RUBY, settings: "interval=4k,output=none") do |process, io|
      $:.unshift(#{folder.dump})
      require "-test-/heap_sampler_holders"
      def seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      back = nil
      Bug::HeapSamplerHolders.with_stack(28 << 10) { ready; back = seconds + 2; nil until seconds > back }
      puts back
      sleep
    RUBY
      process.profile(gc: true, diagnose: "50%")
      answered = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      assert_operator answered, :>=, io.gets.to_f
    end
  end

  # C code holds the GVL: what needs no Ruby code is answered, what needs it says so.
  def test_while_c_code_holds_the_gvl
    begin
      require "fiddle"
    rescue LoadError
      omit "no fiddle"
    end
    running(<<~'RUBY', settings: "interval=4k,output=none") do |process|
      require "fiddle"
      usleep = Fiddle::Function.new(Fiddle::Handle::DEFAULT["usleep"], [Fiddle::TYPE_INT], Fiddle::TYPE_INT, need_gvl: true)
      ready
      usleep.call(120_000_000)
      sleep
    RUBY
      # All of it while the GVL is held: nothing waits for the end of that.
      times = Array.new(5) { [seconds { process.hello }, seconds { process.profile }, seconds { process.memory }] }
      asked = Thread.new { assert_raise(HeapSample::LiveSocket::Declined) { process.set(interval: "64k") } }
      times += Array.new(3) { [seconds { process.profile }] }
      forced = nil
      times << seconds { forced = process.profile(diagnose: "50%").info.forced }
      assert_equal [0, 0], [forced.gcs, forced.walks], "what may be forced, and cannot"
      assert_operator times.flatten.min(6).max, :<, 5, times.inspect
      assert_match(/safe point within 5 s/, asked.value.message)
      assert_equal 4096, process.hello[:interval]
    end
  end

  # All threads sleep: one is woken, serves what needs the GVL, and sleeps on.
  def test_while_all_threads_sleep
    running("Thread.new { Queue.new.pop }; ready; p sleep", settings: "interval=4k,output=none") do |process, io|
      assert_equal 8192, process.set(interval: "8k")[:interval]
      assert_nil io.wait_readable(0.2), "it sleeps on"
    end
  end

  # Its only thread waits for input: it is interrupted, serves the request, and reads on.
  def test_while_it_reads
    running("ready; puts $stdin.gets; puts IO.select([$stdin], nil, nil, 3).inspect", settings: "interval=4k,output=none") do |process, io|
      assert_equal 8192, process.set(interval: "8k")[:interval]
      io.puts "line"
      assert_equal "line\n", io.gets
      assert_equal 4096, process.set(interval: "4k")[:interval]
      assert_equal "nil\n", io.gets
    end
  end

  def test_a_child_has_its_own
    running(<<~'RUBY', settings: "interval=256,output=none") do |process, io|
      $kept = Array.new(1000) { Object.new }
      made, makes = IO.pipe
      child = fork { $child = Array.new(50_000) { Object.new }; makes.puts; sleep }
      made.gets
      sleep 0.1 until Dir.glob("#{ENV["TMPDIR"]}/ruby-heap-*/#{child}-*.sock").any?
      ready
      puts child
      sleep
    RUBY
      pid = io.gets.to_i
      child = HeapSample::LiveProcess.new(pid)
      sleep 0.05 until child.memory[:account].rss > 1 << 20
      assert_equal [pid, process.pid], child.hello.values_at(:process_id, :parent_id)
      assert_in_delta 51_000, child.profile(gc: true, diagnose: "50%").rows.sum { |row| row.class_name == "Object" ? row.inuse.objects : 0 }, 10_000
      assert_in_delta 1000, process.profile(gc: true, diagnose: "50%").rows.sum { |row| row.class_name == "Object" ? row.inuse.objects : 0 }, 1000
      Process.kill(:KILL, pid)
    end
  end

  # It goes with the process; what a killed one leaves behind is replaced, or answers no client.
  def test_the_end
    running("ready; $stdin.gets", settings: "output=none") do |process, io|
      process.hello
      path = sockets.first
      io.puts
      io.read
      assert_not_send([File, :exist?, path])
    end
    running("ready; sleep", settings: "output=none") do |process, io|
      path = process.socket
      Process.kill(:KILL, process.pid)
      io.read
      assert_send([File, :exist?, path])
      # The kernel closes the socket after the pipe that says the process has ended.
      error = assert_raise(HeapSample::LiveSocket::Refused, HeapSample::LiveSocket::Deserted) { HeapSample::LiveProcess.new(nil, socket: path).hello }
      assert_match(/no process listens|the process has ended|it ended/, error.message)
    end
  end

  # Waits for the end of a process in a thread, once the process knows that.
  def waiting_for(process)
    socket = HeapSample::LiveSocket.new(process.socket, pid: process.pid)
    thread = Thread.new { socket.wait_for_end }
    thread.report_on_exception = false
    # It has sent the request: a thread that is about to send it is stopped, too.
    sleep 0.05 while thread.alive? && thread.backtrace.to_a.none? { |line| line.include?("wait_readable") }
    2.times { process.hello }           # which are answered after the request to wait was read
    thread
  end

  def test_a_normal_end_says_goodbye
    {"" => ->(io) { io.puts }, "at_exit { sleep 0.1 }; Thread.new { sleep }" => ->(io) { io.close_write }, "trap(:INT) { exit 3 }" => ->(io) { Process.kill(:INT, io.pid) },
     "1" => ->(io) { Process.kill(:TERM, io.pid) }, "raise if $stdin.gets" => ->(io) { io.puts }}.each do |script, ending|
      ["output=none", "output=#{@dir}/last.pb.gz,every=60", "standby"].each do |settings|
        running("ready; #{script}; $stdin.gets", settings: settings) do |process, io|
          waiting = Array.new(2) { waiting_for(process) }
          ending.call(io)
          assert_equal [true, true], waiting.map(&:value), "#{script} #{settings}"
        end
      end
    end
  end

  def test_a_process_that_is_killed_or_replaced_says_no_goodbye
    {"" => ->(io) { Process.kill(:KILL, io.pid) }, "exit! if $stdin.gets" => ->(io) { io.puts }, "Process.kill(:SEGV, $$) if $stdin.gets" => ->(io) { io.puts },
     "exec('cat') if $stdin.gets" => ->(io) { io.puts }}.each do |script, ending|
      running("Process.setrlimit(:CORE, 0); ready; #{script}; $stdin.gets", settings: "output=none") do |process, io|
        waiting = waiting_for(process)
        ending.call(io)
        assert_equal false, waiting.value, script
      end
    end
  end

  # After exec the process has another socket, on which its end is waited for anew.
  def test_a_goodbye_after_exec
    running("ready; $stdin.gets; exec(#{EnvUtil.rubybin.dump}, '--disable=gems', '-e', '$stdout.sync = true; puts %q(ready); $stdin.gets')", settings: "output=none") do |process, io|
      waiting = waiting_for(process)
      io.puts
      assert_equal false, waiting.value
      assert_equal "ready\n", io.gets
      waiting = waiting_for(HeapSample::LiveProcess.new(io.pid))
      io.puts
      assert_equal true, waiting.value
    end
  end

  def test_a_child_says_goodbye_for_itself_alone
    running(<<~'RUBY', settings: "output=none") do |process, io|
      ready
      while (line = $stdin.gets)
        child = fork { line == "exit!\n" ? exit!(0) : $stdin.gets }
        puts child
        Process.wait(child) if line == "exit!\n"
      end
    RUBY
      parent = waiting_for(process)
      io.puts "exit!"
      assert_operator io.gets.to_i, :>, 0
      io.puts "fork"
      child = HeapSample::LiveProcess.new(io.gets.to_i)
      sleep 0.01 until child.listens?
      ends = waiting_for(child)
      Process.kill(:TERM, child.pid)
      assert_equal true, ends.value
      process.hello
      assert_nil parent.join(0.2), "the parent has not ended"
      Process.kill(:TERM, process.pid)
      assert_equal true, parent.value
    end
  end

  # Half of the connections are for clients that want an answer now.
  def test_sixteen_may_wait_and_others_are_answered
    running("ready; $stdin.gets", settings: "output=none", hidden: true) do |process, io|
      waiting = Array.new(16) { waiting_for(process) }
      error = assert_raise(HeapSample::LiveSocket::Declined) { HeapSample::LiveSocket.new(process.socket).wait_for_end }
      assert_match(/too many clients wait for the end of this process \(16\); try again/, error.message)
      waiting.pop.kill.join
      waiting << waiting_for(process)
      io.puts
      assert_equal [true], waiting.filter_map(&:value).uniq
    end
  end

  # A process that ends with exit! or exec leaves its socket file behind: the next one that begins to listen removes it.
  def test_what_others_left_behind
    folder = "#{@dir}/ruby-heap-#{Process.euid}"
    unused = 999_999_999        # no process has this number
    running("ready; $stdin.gets; exit!", settings: "output=none") do |_process, io|
      io.puts
      io.read
    end
    left = Dir.children(folder)
    assert_equal 1, left.size
    deserted, listened, other = %W[#{unused}-1.sock #{unused}-3.sock #{unused}.sock]
    UNIXServer.new("#{folder}/#{deserted}").close
    File.write("#{folder}/#{other}", "")
    UNIXServer.open("#{folder}/#{listened}") do
      running("ready; sleep", settings: "output=none") do |process|
        process.hello
        assert_equal [File.basename(process.socket), listened, other].sort, Dir.children(folder).sort
      end
    end
  end

  # Half a request, none, too much of it, hundreds at once, one who never reads: others are answered, and it is left as it was.
  def test_bad_guests
    running("$kept = Array.new(200_000) { Object.new }; ready; sleep", settings: "interval=64,output=none,max-samples=none", hidden: true) do |process|
      path = process.socket
      before = files(process)
      guests = Array.new(200) do |i|
        guest = UNIXSocket.new(path)
        case i % 4
        when 0 then guest.write("heap-sample/1 pro")
        when 1 then guest.write("x" * 5000)
        when 2 then guest.write("heap-sample/1 profile\n")
        end
        guest
      rescue SystemCallError            # it was cut off already
        guest
      end.compact
      answers = guests.values_at(*(1...200).step(4)).filter_map { |guest| guest.read(60) rescue nil }
      assert_send([answers.join, :match?, /longer than 4,095|too many connections/])
      guests.each(&:close)
      hello = nil
      600.times { hello ||= (process.hello rescue sleep(0.1) && nil) }
      assert_equal true, hello[:sampling]
      assert_no_more_files before, process
    end
  end

  def test_socket_off
    running("ready; sleep", settings: "output=none,socket=off") do |process|
      assert_empty sockets
      assert_equal false, process.ruby?
      assert_raise_with_message(HeapSample::LiveSocket::Refused, /socket=off/) { process.hello }
    end
  end

  # In /tmp any user may have made the folder before.
  def test_a_folder_that_is_open_to_others
    folder = "#{@dir}/ruby-heap-#{Process.euid}"
    Dir.mkdir(folder)
    File.chmod(0o777, folder)
    running("ready; sleep", settings: "output=none") do |process, io|
      assert_empty sockets
      assert_raise_with_message(HeapSample::LiveSocket::Refused, /did not open its control socket within/) { process.hello }
      assert_match(/heap-sample: .*other users can access it/, io.gets)
    end
  end

  def test_bad_settings_are_refused_in_words
    running("ready; sleep", settings: "output=none") do |process|
      error = assert_raise(HeapSample::LiveSocket::Declined) { process.set(interval: "foo") }
      assert_match(/interval=foo: must be a size/, error.message)
      error = assert_raise(HeapSample::LiveSocket::Declined) { process.set(nonsense: 1) }
      assert_match(/unknown setting "nonsense"/, error.message)
    end
  end
end
