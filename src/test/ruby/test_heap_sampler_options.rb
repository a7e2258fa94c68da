# frozen_string_literal: false
require 'test/unit'
require 'tmpdir'

# --heap-sample, RUBYOPT and RUBY_HEAP_SAMPLE: what is written, when, where, and what is refused.
class TestHeapSamplerOptions < Test::Unit::TestCase
  def setup
    @dir = Dir.mktmpdir
  end

  def teardown
    FileUtils.rm_rf(@dir)
  end

  def ruby(*args, env: {}, chdir: @dir)
    env = { "RUBYOPT" => nil, "RUBY_HEAP_SAMPLE" => nil }.merge(env)
    EnvUtil.invoke_ruby([env, "--disable=gems", *args], "", true, true, timeout: 60, chdir: chdir)
  end

  # Runs a program that ends when its standard input does: when the block, which gets its stderr so far, is satisfied.
  def ruby_until(*args)
    wait, go = IO.pipe
    errors = File.join(Dir.mktmpdir, "err")
    pid = spawn({ "RUBYOPT" => nil, "RUBY_HEAP_SAMPLE" => nil }, EnvUtil.rubybin, "--disable=gems", *args, in: wait, err: errors, chdir: @dir)
    wait.close
    deadline = now + EnvUtil.apply_timeout_scale(60)
    sleep 0.02 until yield(File.read(errors)) || now > deadline
    go.close
    status = Process.wait2(pid)[1]
    [File.read(errors), status]
  ensure
    FileUtils.rm_rf(File.dirname(errors))
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def files = Dir.children(@dir).sort

  KEEP = "$keep = Array.new(20_000) { |i| [i.to_s] }"

  def test_writes_a_profile_at_exit_and_says_where
    out, err, status = ruby("--heap-sample", "-e", "#{KEEP}; puts 1")
    assert_predicate status, :success?
    assert_equal "1\n", out
    assert_equal 1, files.size
    assert_match(/\Aheap-\d+-\d{8}T\d{6}\.pb\.gz\z/, files[0])
    assert_match(/\Aheap-sample: wrote #{files[0]} \(\d+ bytes, \d+ live samples\)\n\z/, err)
    assert_equal 0100600, File.stat(File.join(@dir, files[0])).mode
  end

  def test_exit_status_and_exceptions_stay
    _, _, status = ruby("--heap-sample=output=x.pb.gz", "-e", "at_exit { $keep = 'late' }; exit 3")
    assert_equal 3, status.exitstatus
    assert_equal ["x.pb.gz"], files
    _, err, status = ruby("--heap-sample=output=x.pb.gz", "-e", "raise 'boom'")
    assert_equal 1, status.exitstatus
    assert_match(/boom \(RuntimeError\)/, err)
    assert_match(/wrote x.pb.gz/, err)
  end

  def test_settings
    _, _, status = ruby("--heap-sample=interval=4k,output=%p-%%.pb,max-samples=none,seed=1", "-e", <<~'RUBY')
      stat = GC::SampleProfile.stat
      exit! 2 unless stat[:interval] == 4096 && stat[:max_samples].nil?
      def down(n) = n == 0 ? Array.new(10_000) { [1] } : down(n - 1)
      $keep = down(10)
    RUBY
    assert_predicate status, :success?
    assert_match(/\A\d+-%\.pb\z/, files[0])
  end

  def test_environment_and_precedence
    show = "p GC::SampleProfile.stat.values_at(:interval, :max_samples)"
    none = "output=none"
    out, = ruby("-e", show, env: { "RUBY_HEAP_SAMPLE" => "interval=8k,max-samples=700000,#{none}" })
    assert_equal "[8192, 700000]\n", out
    out, = ruby("-e", show, env: { "RUBY_HEAP_SAMPLE" => "interval=8k,max-samples=700000,#{none}", "RUBYOPT" => "--heap-sample=interval=4k" })
    assert_equal "[4096, 700000]\n", out
    out, = ruby("--heap-sample=interval=2k,#{none}", "-e", show, env: { "RUBYOPT" => "--heap-sample=interval=4k,max-samples=900000" })
    assert_equal "[2048, 900000]\n", out
    ["off", "0", "false", "no", ""].each do |off|
      out, err, = ruby("-e", "p GC::SampleProfile.running?", env: { "RUBY_HEAP_SAMPLE" => off })
      assert_equal ["false\n", ""], [out, err]
    end
    out, = ruby("--heap-sample=off", "-e", "p GC::SampleProfile.running?", env: { "RUBY_HEAP_SAMPLE" => "on" })
    assert_equal "false\n", out
    ["1", "true", "yes"].each do |on|
      out, = ruby("-e", "p GC::SampleProfile.running?", env: { "RUBY_HEAP_SAMPLE" => "#{on},#{none}" })
      assert_equal "true\n", out
    end
    assert_empty files
  end

  def test_given_twice_the_settings_merge_in_order
    show = "p GC::SampleProfile.stat.values_at(:interval, :max_samples)"
    twice = %w[--heap-sample=output=none,interval=8k,max-samples=700000 --heap-sample=interval=4k]
    assert_equal ["[4096, 700000]\n", ""], ruby(*twice, "-e", show).first(2)
    assert_equal ["[8192, 700000]\n", ""], ruby(*twice.reverse, "-e", show).first(2)
    assert_equal ["[4096, 700000]\n", ""], ruby("-e", show, env: { "RUBYOPT" => twice.join(" ") }).first(2)
    assert_equal ["[4096, 700000]\n", ""], ruby(twice[1], "-e", show, env: { "RUBYOPT" => twice[0] }).first(2)
    assert_equal ["[524288, 200000]\n", ""], ruby("--heap-sample=output=none", "--heap-sample", "-e", show).first(2)
    running = "p GC::SampleProfile.running?"
    assert_equal "false\n", ruby(*twice, "--heap-sample=off", "-e", running).first
    assert_equal "true\n", ruby("--heap-sample=off", *twice, "-e", running).first
    assert_empty files
  end

  BAD = {
    "interval=banana" => /interval.*banana/, "interval=0" => /interval/, "interval=-1" => /interval/,
    "interval=99999999999999999999" => /interval/, "interval=" => /interval/,
    "colour=red" => /colour/, "every=0" => /every/, "every=x" => /every/, "keep=0" => /keep/,
    "at-rss=0%" => /at-rss/, "at-rss=101%" => /at-rss/, "at-rss=85" => /at-rss=85.*write 85% or 85m/,
    "max-samples=0" => /max-samples/,
    "only=2/3" => /only/, "only=1/0" => /only/, "seed=x" => /seed/, "output=x.txt" => /x\.txt/, "output=%q.pb" => /%q/,
  }

  def test_bad_settings_on_the_command_line_end_ruby
    BAD.each do |settings, message|
      out, err, status = ruby("--heap-sample=#{settings}", "-e", "puts 1")
      assert_equal 1, status.exitstatus, settings
      assert_match(message, err, settings)
      assert_equal 1, err.lines.size, err
      assert_empty out
    end
    _, err, status = ruby("--heap-sample-interval=4k", "-e", "puts 1")
    assert_match(/invalid option --heap-sample-interval=4k/, err)
    assert_equal 1, status.exitstatus
    assert_empty files
  end

  def test_bad_settings_in_the_environment_never_keep_ruby_from_starting
    BAD.each do |settings, message|
      [{ "RUBY_HEAP_SAMPLE" => settings }, { "RUBYOPT" => "--heap-sample=#{settings}" }].each do |env|
        out, err, status = ruby("-e", "p GC::SampleProfile.running?; exit 3", env: env)
        assert_equal [3, "false\n"], [status.exitstatus, out], settings
        assert_match(message, err, settings)
        assert_match(/\Aheap-sample: #{env.keys[0]}: .*sampling is off until you fix this setting/, err)
        assert_equal 1, err.lines.size, err
      end
    end
    assert_empty files
  end

  def test_bad_settings_in_the_environment_are_told_once_by_a_family_of_processes
    family = "fork { }; Process.wait; system(ARGV[0], '--disable=gems', '-e', 'p GC::SampleProfile.stat.values_at(:running, :malloc)')"
    [{ "RUBY_HEAP_SAMPLE" => "evry=60" }, { "RUBYOPT" => "--heap-sample=evry=60" }].each do |env|
      out, err, = ruby("-e", family, EnvUtil.rubybin, env: env)
      assert_equal "[false, :missing]\n", out
      assert_equal 1, err.lines.size, err
    end
    # other faults are news
    _, err, = ruby("-e", "ENV['RUBY_HEAP_SAMPLE'] = 'ever=60'; #{family}", EnvUtil.rubybin, env: { "RUBY_HEAP_SAMPLE" => "evry=60" })
    assert_equal %w[evry ever], err.scan(/unknown setting "(\w+)"/).flatten
  end

  def test_what_is_good_of_the_environment_does_not_outlive_what_is_bad
    show = "p GC::SampleProfile.stat.values_at(:running, :malloc, :interval)"
    good, bad = "interval=8k,output=none", "colour=red"
    out, = ruby("-e", show, env: { "RUBY_HEAP_SAMPLE" => good, "RUBYOPT" => "--heap-sample=#{bad}" })
    assert_equal "[false, :missing, nil]\n", out
    out, err, = ruby("--heap-sample=#{good}", "-e", show, env: { "RUBY_HEAP_SAMPLE" => bad })
    assert_match(/\A\[true, :\w+, 8192\]\n\z/, out)
    assert_match(/colour/, err)
  end

  def test_a_path_that_cannot_be_written_is_told_at_start_and_loses_nothing
    out, err, status = ruby("--heap-sample=every=1,output=/proc/none/x.pb.gz", "-e", <<~'RUBY')
      $stderr.puts "begins"
      fork { exit 5 }
      Process.wait
      sleep 1.5
      puts 1
      exit 4
    RUBY
    assert_equal 4, status.exitstatus
    assert_equal "1\n", out
    assert_match(%r{\Aheap-sample: cannot write /proc/none/x\.pb\.gz: No such file.*sampling continues.*\nbegins\n\z}, err)
    assert_empty files
  end

  def test_other_paths_that_cannot_be_written
    File.write(File.join(@dir, "file"), "")
    Dir.mkdir(File.join(@dir, "folder.pb"))
    UNIXServer.open(File.join(@dir, "s.pb")) { } if require("socket")
    { "file/x.pb" => "Not a directory", "folder.pb" => "Is a directory", "s.pb" => "Invalid argument" }.each do |path, why|
      _, err, = ruby("--heap-sample=output=#{path}", "-e", "$stderr.puts 'begins'")
      assert_match(/\Aheap-sample: cannot write #{path}: #{why};.*\nbegins\n\z/, err)
    end
    # One that can be when it is due
    File.write(File.join(@dir, "late"), "")
    _, err, = ruby("--heap-sample=output=late/x.pb", "-e", "File.unlink('late')")
    assert_equal ["cannot write", "wrote"], err.scan(/cannot write|wrote/)
    assert_equal %w[file folder.pb late s.pb], files
  end

  def test_a_socket_is_no_bad_ending
    require "socket"
    UNIXServer.open(path = File.join(@dir, "s.pb")) { }
    assert_separately(["--disable=gems", "--heap-sample=output=none", "-", path], <<~'RUBY')
      assert_raise(Errno::EINVAL) { GC.sample_profile.save(ARGV[0]) }
      assert_raise_with_message(ArgumentError, /must end with/) { GC.sample_profile.save("x.txt") }
    RUBY
  end

  def test_keep_without_every_is_reported
    _, err, = ruby("--heap-sample=keep=3,output=none", "-e", "1")
    assert_empty err
    _, err, = ruby("--heap-sample=keep=3,output=x.pb", "-e", "fork { }; Process.wait")
    assert_equal 1, err.scan(/keep=3 has no effect without every=/).size, err
    _, err, = ruby("--heap-sample=keep=3,output=x.pb", "--heap-sample=every=9", "-e", "1")
    assert_not_match(/keep/, err)
  end

  # The profile that a thread was about to write when its process forked must not stay on the child's account.
  def test_fork_while_a_periodic_profile_is_made
    omit "no fork" unless Process.respond_to?(:fork)
    out, = ruby("--heap-sample=interval=1,every=1,keep=2,output=x-%t.pb", "-e", <<~'RUBY')
      $kept = Array.new(150_000) { |i| [i.to_s] }
      1500.times { |i| eval "def m#{i} = Array.new(40) { [1] }"; $kept << send("m#{i}") }
      begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      forks = 0
      # A busy machine takes longer; ten seconds, and as many profiles, are enough.
      until (forks += 1) > 150 && (Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) > 4 || Process.clock_gettime(Process::CLOCK_MONOTONIC) > begun + 10)
        fork { $stdout.syswrite("#{GC::SampleProfile.stat[:bytes_snapshots]} "); exit! }
        Process.wait
      end
    RUBY
    held = out.split.map(&:to_i)
    assert_operator held.size, :>=, 150
    # Only what it was just counting may be: very seldom, of thousands of forks, that is a large array. A profile is being
    # made for more than a tenth of the time.
    assert_operator held.count { |bytes| bytes >= 100_000 }, :<=, held.size / 100 + 2, held.max(5).inspect
  end

  def test_quiet
    omit "no fork" unless Process.respond_to?(:fork)
    _, err, = ruby("--heap-sample=quiet,at-rss=1m,output=%p-%t.pb.gz", "-e", "fork { }; Process.wait; sleep 0.02 until Dir.glob('*-at-rss*').any?")
    assert_empty err
    urgent = files.grep(/-at-rss/).map(&:to_i)
    assert_equal 2, files.size - urgent.size, "of the end"
    assert_include 1..2, urgent.size, "on a busy machine the child, too, may be looked at before it ends"
    assert_equal urgent.uniq, urgent
    # trouble is reported by the first process, not by its children
    _, err, = ruby("--heap-sample=quiet,output=/proc/gone/%p.pb", "-e", "fork { }; Process.wait", chdir: @dir)
    assert_equal 1, err.scan(/^heap-sample:/).size, err
    _, err, = ruby("--heap-sample=quiet,output=x.pb", "--heap-sample=quiet=off", "-e", "1")
    assert_match(/wrote x.pb/, err)
  end

  # A daemon goes to "/": its profiles do not go with it.
  def test_a_relative_path_stays_where_the_process_was_started
    elsewhere = Dir.mktmpdir
    seen = []
    err, status = ruby_until("--heap-sample=every=1,keep=1,output=p-%t.pb.gz", "-e", "Dir.chdir(ARGV[0]); $stdin.read", elsewhere) do
      (seen |= files.grep(/\Ap/)).size >= 2
    end
    assert_predicate status, :success?, err
    assert_empty Dir.children(elsewhere)
    assert_include 1..2, files.size     # the retained profile, and the profile at exit
  ensure
    FileUtils.rm_rf(elsewhere)
  end

  # What reads stderr may be gone: the sampler's line must not end a program that lets SIGPIPE do so.
  def test_nobody_reads_what_it_says
    reader, writer = IO.pipe
    wait, go = IO.pipe
    pid = spawn({ "RUBYOPT" => nil }, EnvUtil.rubybin, "--disable=gems", "--heap-sample=output=x.pb.gz", "-e",
                "trap(:PIPE, 'SYSTEM_DEFAULT'); $stdin.read; exit 5", in: wait, err: writer, chdir: @dir)
    [reader, writer, wait, go].each(&:close)
    assert_equal 5, Process.wait2(pid)[1].exitstatus
    assert_equal ["x.pb.gz"], files
  end

  def test_every_and_keep
    seen = []
    err, status = ruby_until("--heap-sample=every=1,keep=2,output=p-%t.pb.gz", "-e", "#{KEEP}; $stdin.read") do
      (seen |= files.grep(/\Ap/)).size >= 4
    end
    assert_predicate status, :success?, err
    assert_operator seen.size, :>=, 4
    # Two kept, and the one at exit
    assert_include 2..3, files.size
  end

  def test_periodic_profile_of_an_idle_process
    err, status = ruby_until("--heap-sample=every=1,output=%t.pb.gz", "-e", "#{KEEP}; $stdin.read; exit!(true)") do
      files.grep(/\A\d/).size >= 2
    end
    assert_predicate status, :success?, err
    assert_operator files.size, :>=, 2
  end

  def test_at_rss
    err, = ruby_until("--heap-sample=at-rss=80m,output=%p-%t.pb.gz", "-e", '$keep = "x" * 120_000_000; $stdin.read; exit!') do |said|
      said.include?("wrote")
    end
    assert_equal 1, files.size
    assert_match(/\A\d+-\d+T\d+-at-rss\.pb\.gz\z/, files[0])
    assert_match(/\Aheap-sample: wrote #{files[0]} \(.*\): its RSS is \d+ MiB\n\z/, err)
    # It may have been looked at while it grew.
    assert_include 80..150, err[/is (\d+) MiB/, 1].to_i
    # Nothing is to happen meanwhile.
    _, _, = ruby("--heap-sample=at-rss=100%,output=%p-%t-never.pb.gz", "-e", "sleep 1; exit!")
    assert_equal 1, files.size
  end

  # Whatever is written before, at the same moment and after.
  def test_the_profile_at_rss_is_kept_beside_periodic_ones
    %w[p-%t.pb.gz fixed.pb.gz].each do |output|
      times = ->(names) { names.map { |name| File.mtime(File.join(@dir, name)) rescue nil }.compact }
      err, = ruby_until("--heap-sample=every=1,keep=2,at-rss=80m,output=#{output}", "-e", <<~'RUBY') do
        sleep 0.02 until Dir.glob("*.pb.gz").any?
        $keep = "x" * 120_000_000
        child = fork { $stdin.read; exit! }
        Process.wait(child)
        exit!
      RUBY
        theirs = times[files.grep(/-at-rss\.pb\.gz\z/)]
        # Another period has passed since.
        theirs.size == 2 && times[files.grep_v(/-at-rss/).grep(/pb/)].any? { |time| time > theirs.max + 1 }
      end
      assert_equal 2, files.grep(/-at-rss\.pb\.gz\z/).size, "#{files} #{err}"
      others = files.grep_v(/-at-rss/)
      # A process may have been killed between a new profile and the end of its oldest.
      assert_include 1..6, others.size, others.inspect
      assert_operator times[files.grep(/-at-rss/)].max, :<, times[others].max
      FileUtils.rm(files.map { |name| File.join(@dir, name) })
    end
  end

  def test_at_rss_tries_again
    start = now
    File.write(File.join(@dir, "late"), "")
    # The first try, which fails in the first second, is not reported: the warning is of the start.
    err, = ruby_until("--heap-sample=at-rss=1m,output=late/%p.pb.gz", "-e", "sleep 5; File.unlink('late'); $stdin.read; exit!") do |said|
      said.include?("wrote")
    end
    assert_operator now - start, :>, 8, "this is the first try"
    assert_equal ["cannot write", "wrote"], err.scan(/cannot write|wrote/), err
    assert_match(/\A\d+-at-rss\.pb\.gz\z/, Dir.children(File.join(@dir, "late")).join(" "))
  end

  def test_children_write_their_own
    omit "no fork" unless Process.respond_to?(:fork)
    _, err, status = ruby("--heap-sample=output=fixed.pb.gz", "-e", <<~'RUBY')
      pids = Array.new(2) { fork { $mine = Array.new(1000) { [1] } } }
      pids.each { |pid| Process.wait(pid) }
      puts pids
    RUBY
    assert_predicate status, :success?, err
    assert_equal 3, files.size
    assert_include files, "fixed.pb.gz"
    assert_equal 2, files.grep(/\Afixed\.\d+\.pb\.gz\z/).size
    assert_equal 3, err.lines.size
  end

  # Of 24 draws of probability 1/2 all are alike once in eight million runs.
  def test_only
    [nil, ",seed=7"].each do |seed|
      chosen = Array.new(24) { ruby("-e", "p GC::SampleProfile.running?", env: { "RUBY_HEAP_SAMPLE" => "only=1/2,output=none#{seed}" })[0] }
      assert_equal ["false\n", "true\n"], chosen.uniq.sort
    end
  end

  # Of 400 draws of probability 1/4 a hundred are expected, give or take 8.7: six times that once in 500 million runs.
  def test_only_in_forked_children
    omit "no fork" unless Process.respond_to?(:fork)
    [nil, ",seed=7"].each do |seed|
      out, = ruby("--heap-sample=only=1/4,output=none#{seed}", "-e", <<~'RUBY')
        8.times { 50.times { fork { $stdout.syswrite(GC::SampleProfile.running? ? "y" : "n"); exit! } }; Process.waitall }
      RUBY
      assert_equal 400, out.size
      assert_include 48..152, out.count("y")
    end
  end

  # As in a container, where the process ids are the same each time.
  def test_only_with_a_seed_decides_alike_where_all_is_alike
    space = %w[unshare --pid --fork]
    omit "no process id namespaces here" unless system(*space, "true", err: File::NULL)
    family = "$stdout.sync = true; def say = print(GC::SampleProfile.running? ? 'y' : 'n'); " \
      "say; 25.times { fork { say; fork { say }; Process.wait }; Process.wait }"
    run = lambda do |seed|
      IO.popen([{ "RUBYOPT" => nil, "RUBY_HEAP_SAMPLE" => nil }, *space, EnvUtil.rubybin, "--disable=gems",
                "--heap-sample=only=1/2,output=none,seed=#{seed}", "-e", family], &:read)
    end
    once, again, other = run[7], run[7], run[8]
    assert_equal 51, once.size
    assert_equal once, again
    assert_not_equal once, other
    # a grandchild does not decide as its uncle does: by the host's name another draw on each machine, of 24 pairs all alike
    # once in 16 million
    pairs = once[1..].scan(/../)
    assert_not_equal pairs[1..].map { |pair| pair[0] }, pairs[..-2].map { |pair| pair[1] }
  end

  def test_a_name_that_is_taken_gets_the_start_of_the_process
    err, = ruby_until("--heap-sample=every=1,output=%p.pb", "-e", "File.write($$.to_s + '.pb', 'older'); $stdin.read") do
      files.grep(/-/).any?
    end
    older, marked = files.partition { |name| name.match?(/\A\d+\.pb\z/) }
    assert_equal ["older"], older.map { |name| File.read(File.join(@dir, name)) }
    assert_equal 1, marked.size, "each profile replaces the one before"
    assert_match(/\A\d+-\h{16}\.pb\z/, marked[0])
    assert_include err, "wrote #{marked[0]}"
  end

  def test_a_fifo_gets_the_profile
    omit "no mkfifo" unless File.respond_to?(:mkfifo)
    fifo = File.join(@dir, "f.pb.gz")
    File.mkfifo(fifo)
    reader = Thread.new { File.binread(fifo) }
    _, err, status = ruby("--heap-sample=output=#{fifo}", "-e", KEEP)
    assert_predicate status, :success?
    assert_equal "\x1f\x8b".b, reader.value[0, 2], err
  end

  # More than a FIFO holds: who writes it waits for the reader.
  LARGE = "1000.times { |i| eval \"def m\#{i} = Array.new(3) { [1] }\"; ($k ||= []) << send(\"m\#{i}\") }; "

  # Yields its standard input and output.
  def with_slow_output(program)
    omit "no mkfifo" unless File.respond_to?(:mkfifo)
    fifo = File.join(@dir, "f.pb")
    File.mkfifo(fifo)
    args = ["--disable=gems", "--heap-sample=interval=1,every=1,output=#{fifo}"]
    IO.popen([{ "RUBYOPT" => nil }, EnvUtil.rubybin, *args, "-e", LARGE + program, err: File::NULL], "r+") do |child|
      yield child, fifo
    ensure
      Process.kill(:KILL, child.pid)
    end
  end

  # The program waits until the sampler is writing, held up by the reader, which is returned.
  def profile_has_begun(child, fifo)
    reader = Thread.new { File.open(fifo, "rb") }
    assert reader.join(EnvUtil.apply_timeout_scale(20)), "no profile"
    child.puts
    reader.value
  ensure
    reader&.kill
  end

  # Each profile takes longer than the time between two.
  def test_an_output_slower_than_every_does_not_hold_up_the_exit
    with_slow_output("$stdin.gets; puts 'ends'; $stdout.flush") do |child, fifo|
      opened = Queue.new
      reader = Thread.new { loop { File.open(fifo, "rb") { |file| opened << true; sleep 1.3; file.read } } }
      2.times { assert opened.pop(timeout: EnvUtil.apply_timeout_scale(20)), "no profile" }
      child.puts
      assert_equal "ends\n", child.gets
      assert_not_nil child.wait_readable(EnvUtil.apply_timeout_scale(20)), "it does not end"
      assert_nil child.gets
    ensure
      reader&.kill
    end
  end

  def test_stop_waits_for_a_slow_output_without_holding_up_other_threads
    with_slow_output(<<~'RUBY') do |child, fifo|
      $stdin.gets
      stop = Thread.new { GC::SampleProfile.stop }
      sleep 0.2
      puts stop.alive?
      $stdout.flush
      p stop.value, GC::SampleProfile.running?
    RUBY
      reader = profile_has_begun(child, fifo)
      assert_not_nil child.wait_readable(EnvUtil.apply_timeout_scale(20)), "no other thread runs"
      assert_equal "true\n", child.gets
      reader.read
      reader.close
      assert_equal "true\nfalse\n", child.read
    end
  end

  def test_others_stop_start_and_fork_while_a_stop_waits
    omit "no fork" unless Process.respond_to?(:fork)
    with_slow_output(<<~RUBY) do |child, fifo|
      $stdin.gets
      stop = Thread.new { GC::SampleProfile.stop }
      sleep 0.2
      pid = fork { 3000.times { Dir.glob("f.*.pb", base: #{@dir.dump}).any? ? break : sleep(0.02) }; exit! }
      p GC::SampleProfile.stop, GC::SampleProfile.start, stop.alive?
      Process.wait(pid)
      $stdout.flush
      p stop.value, GC::SampleProfile.running?
      GC::SampleProfile.stop
    RUBY
      reader = profile_has_begun(child, fifo)
      assert_equal %w[true true true], Array.new(3) { child.gets.chomp }
      reader.read
      reader.close
      assert_equal "false\ntrue\n", child.read
      assert_equal 1, Dir.glob("f.*.pb", base: @dir).size, "the child writes its own"
    end
  end

  def test_help_and_version_stay
    out, = ruby("--help")
    assert_include out, "--heap-sample[=settings]"
    _, err, = ruby("--heap-sample=x", "-e", "1")
    listed = out[/^Heap sample settings.*?:\n(?:  .*\n)+/].scan(/^  (\S.*?)(?:  |$)/).flatten.flat_map { |line| line.split(", ") }
    assert_equal err[/settings: (.*) \(/, 1].split(", "), listed.map { |line| line[/[a-z-]+/] }
    assert_operator out.lines.drop(1).map { |line| line.chomp.size }.max, :<=, 85    # the first has the path of this Ruby
    out, = ruby("-h")
    assert_operator out.lines.size, :<=, 25
    out, err, = ruby("--heap-sample", "-v")
    assert_equal [RUBY_DESCRIPTION.sub(/ \+(?:YJIT|RJIT)\b/, "") + "\n", ""], [out.sub(/ \+(?:YJIT|RJIT)\b/, ""), err]
    _, err, = ruby("--heap-sample", "--version")
    assert_empty err
    assert_empty files
  end

  def test_a_script_line_asks_for_it
    script = File.join(@dir, "s.rb")
    File.write(script, "#!/usr/bin/env ruby --heap-sample=interval=1k,output=none\np GC::SampleProfile.stat[:interval]\n")
    out, err, = ruby(script)
    assert_equal "1024\n", out, err
  end

  def script(settings, program, env = {})
    path = File.join(@dir, "s.rb")
    File.write(path, "#!/usr/bin/env ruby --heap-sample=#{settings}\n#{program}\n")
    ruby(path, env: env)
  ensure
    FileUtils.rm_f(path)
  end

  def test_a_script_line_decides_as_other_settings_do
    running = "p GC::SampleProfile.running?"
    assert_equal "false\n", script("only=1/1000000,output=none", running)[0]
    assert_equal "false\n", script("off", running, "RUBY_HEAP_SAMPLE" => "output=none")[0]
    # who was not chosen is not asked again
    assert_equal "false\n", script("output=none", running, "RUBY_HEAP_SAMPLE" => "only=1/1000000")[0]
    script("every=1", "sleep 0.02 until Dir.glob('*.pb.gz').any?; exit!", "RUBY_HEAP_SAMPLE" => "every=60,output=%t.pb.gz")
    assert_include 1..2, files.size
  end

  # start takes what RUBY_HEAP_SAMPLE takes, as Ruby's values or as there.
  def test_start_takes_each_setting
    Dir.mktmpdir do |dir|
      script = <<~RUBY
        dir = #{dir.dump}
        GC::SampleProfile.start(interval: "64k", max_samples: "none", seed: 3)
        stat = GC::SampleProfile.stat
        print stat.values_at(:interval, :max_samples).inspect
        [{ interval: "64x" }, { every: "0" }, { at_rss: "200%" }, { output: "x.html" }, { output: "a,b.pb" }, { only: 3 },
         { keep: -1 }].each do |bad|
          GC::SampleProfile.start(**bad)
        rescue ArgumentError => error
          print " ", bad.keys[0].to_s.tr("_", "-") == error.message[/[a-z-]+/].tr("_", "-")
        end
        print " ", GC::SampleProfile.start(every: 1, keep: 2, output: "\#{dir}/%t-%p.pb.gz", quiet: true)
        kept = []
        deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 60
        until (files = Dir["\#{dir}/*.pb.gz"]).any? || Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
          kept << "x" * 1000
          sleep 0.01
        end
        print " ", files.any?
        GC::SampleProfile.stop
        written = Dir["\#{dir}/*.pb.gz"]
        GC::SampleProfile.start                 # as it was started: no files
        sleep 1.5                               # one would be written meanwhile
        print " ", Dir["\#{dir}/*.pb.gz"] == written
      RUBY
      assert_in_out_err(["-W1", "--disable=gems", "-e", script], "", ["[65536, nil]#{" true" * 7} false true true"], [], timeout: 120)
      # With an output there is a profile at exit, too.
      assert_in_out_err(["-W1", "--disable=gems", "-e", "GC::SampleProfile.start(output: #{"#{dir}/exit.pb".dump}, quiet: true)"], "", [], [])
      assert_path_exist("#{dir}/exit.pb")
    end
  end

  # The kernel sets AT_SECURE where the real user is another one.
  def test_a_setuid_program_ignores_the_environment
    omit "only root can be setuid here" unless Process.euid.zero?
    # The path of a socket has 107 bytes at most: the folder of the other tests can be too long.
    Dir.mktmpdir("heap", "/tmp") do |dir|
      script = File.join(dir, "app.rb")
      File.write(script, <<~RUBY)
        puts running = GC::SampleProfile.running?
        Process.kill(45, $$)
        sleep 0.3
        100.times { sleep 0.1 unless Dir.exist?(#{"#{dir}/ruby-heap-0".dump}) } if running
      RUBY
      env = { "RUBYOPT" => nil, "RUBY_HEAP_SAMPLE" => "on,malloc=64k,output=#{dir}/x.pb", "TMPDIR" => dir, "XDG_RUNTIME_DIR" => dir }
      out = [0, 65_534].to_h do |user|
        said, ended = IO.pipe do |reader, writer|
          pid = fork do
            Process::Sys.setresuid(user, 0, 0)
            exec(env, EnvUtil.rubybin, "--disable=gems", script, out: writer, err: File::NULL)
          end
          writer.close
          [reader.read, Process.wait2(pid)[1].success?]
        end
        made = Dir.children(dir).sort - ["app.rb"]
        FileUtils.rm_rf(made.map { |name| File.join(dir, name) })
        [user, [said, ended, made]]
      end
      assert_equal ["true\n", true, ["ruby-heap-0", "x.pb"]], out[0]
      assert_equal ["false\n", true, []], out[65_534]
    end
  end

  def test_a_folder_that_others_may_write_to_is_refused
    open = File.join(@dir, "open")
    Dir.mkdir(open)
    File.chmod(0777, open)
    _, err, status = ruby("--heap-sample=output=#{open}/x.pb", "-e", KEEP)
    assert_predicate status, :success?
    assert_match(/\Aheap-sample: cannot write #{open}\/x\.pb: its folder belongs to another user, or other users can write to it; sampling continues; fix the folder, or set another output=/, err)
    assert_empty Dir.children(open)
    _, err, = ruby("--heap-sample=output=#{open}/heaps/x.pb", "-e", KEEP)
    assert_match(/wrote #{open}\/heaps\/x\.pb/, err)
    File.chmod(01777, open)
    _, err, = ruby("--heap-sample=output=#{open}/x.pb", "-e", KEEP)
    assert_match(/wrote #{open}\/x\.pb/, err)
  end
end
