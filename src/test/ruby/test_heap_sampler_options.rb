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
    out, err, status = ruby("--heap-sample=output=x.pb.gz", "-e", "at_exit { $keep = 'late' }; exit 3")
    assert_equal 3, status.exitstatus
    assert_equal ["x.pb.gz"], files
    _, err, status = ruby("--heap-sample=output=x.pb.gz", "-e", "raise 'boom'")
    assert_equal 1, status.exitstatus
    assert_match(/boom \(RuntimeError\)/, err)
    assert_match(/wrote x.pb.gz/, err)
  end

  def test_settings
    _, _, status = ruby("--heap-sample=interval=4k,output=%p-%%.pb,max-depth=3,max-samples=none,seed=1", "-e", <<~'RUBY')
      stat = GC::SampleProfile.stat
      exit! 2 unless stat[:interval] == 4096 && stat[:max_depth] == 3 && stat[:max_samples].nil?
      def down(n) = n == 0 ? Array.new(10_000) { [1] } : down(n - 1)
      $keep = down(10)
    RUBY
    assert_predicate status, :success?
    assert_match(/\A\d+-%\.pb\z/, files[0])
  end

  def test_environment_and_precedence
    show = "p GC::SampleProfile.stat.values_at(:interval, :max_depth)"
    none = "output=none"
    out, = ruby("-e", show, env: { "RUBY_HEAP_SAMPLE" => "interval=8k,max-depth=7,#{none}" })
    assert_equal "[8192, 7]\n", out
    out, = ruby("-e", show, env: { "RUBY_HEAP_SAMPLE" => "interval=8k,max-depth=7,#{none}", "RUBYOPT" => "--heap-sample=interval=4k" })
    assert_equal "[4096, 7]\n", out
    out, = ruby("--heap-sample=interval=2k,#{none}", "-e", show, env: { "RUBYOPT" => "--heap-sample=interval=4k,max-depth=9" })
    assert_equal "[2048, 9]\n", out
    ["off", "0", ""].each do |off|
      out, err, = ruby("-e", "p GC::SampleProfile.running?", env: { "RUBY_HEAP_SAMPLE" => off })
      assert_equal ["false\n", ""], [out, err]
    end
    out, = ruby("--heap-sample=off", "-e", "p GC::SampleProfile.running?", env: { "RUBY_HEAP_SAMPLE" => "on" })
    assert_equal "false\n", out
    out, = ruby("-e", "p GC::SampleProfile.running?", env: { "RUBY_HEAP_SAMPLE" => "1,#{none}" })
    assert_equal "true\n", out
    assert_empty files
  end

  def test_bad_settings_name_themselves
    {
      "interval=banana" => /interval.*banana/, "interval=0" => /interval/, "interval=-1" => /interval/,
      "interval=99999999999999999999" => /interval/, "interval=" => /interval/,
      "colour=red" => /colour/, "every=0" => /every/, "every=x" => /every/, "keep=0" => /keep/,
      "at-rss=0%" => /at-rss/, "at-rss=101%" => /at-rss/, "max-depth=0" => /max-depth/,
      "max-depth=4097" => /max-depth/, "max-samples=0" => /max-samples/, "only=2/3" => /only/,
      "only=1/0" => /only/, "seed=x" => /seed/, "output=x.txt" => /x\.txt/, "output=%q.pb" => /%q/,
    }.each do |settings, message|
      [["--heap-sample=#{settings}", {}], [nil, { "RUBY_HEAP_SAMPLE" => settings }],
       [nil, { "RUBYOPT" => "--heap-sample=#{settings}" }]].each do |arg, env|
        out, err, status = ruby(*arg, "-e", "puts 1", env: env)
        assert_equal 1, status.exitstatus, settings
        assert_match(message, err, settings)
        assert_equal 1, err.lines.size, err
        assert_empty out
      end
    end
    assert_empty files
  end

  def test_a_path_that_cannot_be_written_loses_nothing
    out, err, status = ruby("--heap-sample=output=#{@dir}/none/x.pb.gz", "-e", "puts 1; exit 4")
    assert_equal 4, status.exitstatus
    assert_equal "1\n", out
    assert_match(%r{cannot write .*/none/x\.pb\.gz: No such file}, err)
    assert_equal 1, err.lines.size
    assert_empty files
  end

  # A daemon goes to "/": its profiles do not go with it.
  def test_a_relative_path_stays_where_the_process_was_started
    elsewhere = Dir.mktmpdir
    _, err, status = ruby("--heap-sample=every=1,keep=1,output=p-%t.pb.gz", "-e",
                          "Dir.chdir(ARGV[0]); sleep 3.4", elsewhere)
    assert_predicate status, :success?, err
    assert_empty Dir.children(elsewhere)
    assert_include 1..2, files.size     # the one that is kept, and the one at exit
  ensure
    FileUtils.rm_rf(elsewhere)
  end

  # What reads stderr may be gone: the sampler's line must not end a program that lets SIGPIPE do so.
  def test_nobody_reads_what_it_says
    reader, writer = IO.pipe
    wait, go = IO.pipe
    pid = spawn({ "RUBYOPT" => nil }, EnvUtil.rubybin, "--disable=gems", "--heap-sample=output=x.pb.gz", "-e",
                "trap(:PIPE, 'SYSTEM_DEFAULT'); $stdin.read; exit 5", in: wait, err: writer, chdir: @dir)
    [reader, writer, go].each(&:close)
    assert_equal 5, Process.wait2(pid)[1].exitstatus
    assert_equal ["x.pb.gz"], files
  end

  def test_every_and_keep
    _, err, status = ruby("--heap-sample=every=1,keep=2,output=p-%t.pb.gz", "-e", "#{KEEP}; sleep 4.6")
    assert_predicate status, :success?, err
    # Two kept, and the one at exit
    assert_include 2..3, files.size
  end

  def test_periodic_profile_of_an_idle_process
    _, err, status = ruby("--heap-sample=every=1,output=%t.pb.gz", "-e", "#{KEEP}; $stdin.read; sleep 2.5; exit!(true)")
    assert_predicate status, :success?, err
    assert_operator files.size, :>=, 2
  end

  def test_at_rss
    _, err, = ruby("--heap-sample=at-rss=80m,output=%p-%t.pb.gz", "-e", <<~'RUBY')
      $keep = "x" * 120_000_000
      sleep 2
      exit!
    RUBY
    assert_equal 1, files.size
    assert_match(/wrote/, err)
    _, _, = ruby("--heap-sample=at-rss=90%,output=%p-%t-never.pb.gz", "-e", "sleep 1; exit!")
    assert_equal 1, files.size
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

  def test_only
    # 40 draws of probability 1/4: fewer than 2 or more than 22 come up once in 10,000 runs,
    # and with these seeds never.
    chosen = 40.times.count do |seed|
      out, = ruby("-e", "p GC::SampleProfile.running?", env: { "RUBY_HEAP_SAMPLE" => "only=1/4,output=none,seed=#{seed}" })
      out == "true\n"
    end
    assert_include 2..22, chosen
  end

  def test_a_fifo_gets_the_profile
    omit "no mkfifo" unless File.respond_to?(:mkfifo)
    fifo = File.join(@dir, "f.pb.gz")
    File.mkfifo(fifo)
    reader = Thread.new { File.binread(fifo) }
    _, err, status = ruby("--heap-sample=output=#{fifo}", "-e", "#{KEEP}; sleep 0.5")
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

  # Each profile takes longer than the time between two.
  def test_an_output_slower_than_every_does_not_hold_up_the_exit
    with_slow_output("sleep 2.5; puts 'ends'; $stdout.flush") do |child, fifo|
      reader = Thread.new { loop { File.open(fifo, "rb") { |file| sleep 1.3; file.read } } }
      assert_equal "ends\n", child.gets
      assert_not_nil child.wait_readable(EnvUtil.apply_timeout_scale(20)), "it does not end"
      assert_nil child.gets
    ensure
      reader&.kill
    end
  end

  def test_stop_waits_for_a_slow_output_without_holding_up_other_threads
    with_slow_output(<<~'RUBY') do |child, fifo|
      sleep 1.5
      stop = Thread.new { GC::SampleProfile.stop }
      sleep 0.2
      puts stop.alive?
      $stdout.flush
      p stop.value, GC::SampleProfile.running?
    RUBY
      reader = Thread.new { File.open(fifo, "rb") }
      assert_not_nil child.wait_readable(EnvUtil.apply_timeout_scale(20)), "no other thread runs"
      assert_equal "true\n", child.gets
      reader.value.read
      reader.value.close
      assert_equal "true\nfalse\n", child.read
    ensure
      reader&.kill
    end
  end

  def test_others_stop_start_and_fork_while_a_stop_waits
    omit "no fork" unless Process.respond_to?(:fork)
    with_slow_output(<<~'RUBY') do |child, fifo|
      sleep 1.5
      stop = Thread.new { GC::SampleProfile.stop }
      sleep 0.2
      pid = fork { sleep 1.5; exit! }
      p GC::SampleProfile.stop, GC::SampleProfile.start, stop.alive?
      Process.wait(pid)
      $stdout.flush
      p stop.value, GC::SampleProfile.running?
      GC::SampleProfile.stop
    RUBY
      reader = Thread.new { File.open(fifo, "rb") }
      assert_equal %w[true true true], Array.new(3) { child.gets.chomp }
      reader.value.read
      reader.value.close
      assert_equal "false\ntrue\n", child.read
      assert_equal 1, Dir.glob("f.*.pb", base: @dir).size, "the child writes its own"
    ensure
      reader&.kill
    end
  end

  def test_help_and_version_stay
    out, = ruby("--help")
    assert_include out, "--heap-sample[=settings]"
    out, = ruby("-h")
    assert_operator out.lines.size, :<=, 25
    out, err, = ruby("--heap-sample", "-v")
    assert_equal [RUBY_DESCRIPTION.sub(/ \+(?:YJIT|RJIT)\b/, "") + "\n", ""], [out.sub(/ \+(?:YJIT|RJIT)\b/, ""), err]
    out, err, = ruby("--heap-sample", "--version")
    assert_empty err
    assert_empty files
  end

  def test_a_script_line_asks_for_it
    script = File.join(@dir, "s.rb")
    File.write(script, "#!/usr/bin/env ruby --heap-sample=interval=1k,output=none\np GC::SampleProfile.stat[:interval]\n")
    out, err, = ruby(script)
    assert_equal "1024\n", out, err
  end
end
