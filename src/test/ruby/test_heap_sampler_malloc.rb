# frozen_string_literal: false
require 'test/unit'
require 'rbconfig'

# malloc under Ruby stacks: what stands on which line, from every thread, through GC, fork and exit.
class TestHeapSamplerMalloc < Test::Unit::TestCase
  # What malloc gave and has not got back, by the Ruby lines that asked for it.
  HELPERS = <<~'RUBY'
    def malloc_rows(profile = GC.sample_profile) = profile.rows.select { |row| row.class_name == "(malloc)" }
    # The rows of a label (of any frame), with objects and bytes in use.
    def under(label, rows = malloc_rows)
      rows = rows.select { |row| row.stack.any? { |frame| frame.label.include?(label) } }
      [rows.sum { |row| row.inuse.objects }, rows.sum { |row| row.inuse.space }]
    end
    def ruby_frames(row) = row.stack.drop_while { |frame| frame.lineno.zero? }
    def stat(name) = GC::SampleProfile.stat.fetch(name)
  RUBY

  def setup
    omit "no jemalloc with a profiler" unless jemalloc?
  end

  def jemalloc?
    @@jemalloc ||= IO.popen([RbConfig.ruby, "--disable=gems", "--heap-sample=output=none",
                             "-e", "print GC::SampleProfile.stat[:malloc]"], &:read)
    @@jemalloc == "on"
  end

  def assert_malloc(script, settings = "malloc=16k", env: {}, args: [], timeout: 120, **options)
    assert_separately([env, "-W1", "--disable=gems", "--heap-sample=output=none,#{settings}", *args], HELPERS + script,
                      timeout: timeout, **options)
  end

  # YJIT allocates while a method's environment has moved to the heap and its blocks' still point to where it was. Its
  # table of such methods grows there; `$~` stands where the method is looked for first.
  def test_environments_on_the_move
    omit "no YJIT" unless RbConfig::CONFIG["YJIT_SUPPORT"] == "yes"
    assert_malloc(<<~'RUBY', "malloc=4k", args: ["--yjit", "--yjit-call-threshold=1"])
      count = 1200
      eval(Array.new(count) { |i| "def made_#{i}(a) = (a =~ /./) && [a].map { |b| proc { b } }" }.join("\n"))
      procs = Array.new(count) { |i| send(:"made_#{i}", "text #{i}").first }
      assert_equal Array.new(count) { |i| "text #{i}" }, procs.map(&:call)
    RUBY
  end

  # RJIT has code that allocates before it has set the pc of its frame.
  def test_rjit
    omit "no RJIT" unless RbConfig::CONFIG["RJIT_SUPPORT"] == "yes"
    omit "RJIT needs fiddle" if $LOAD_PATH.resolve_feature_path("fiddle.so").nil?
    omit "RJIT lacks a write barrier" if GC::OPTS.include?("RGENGC_CHECK_MODE")
    script = <<~'RUBY'
      def text(n) = { "key #{n}" => ["text #{n}", n.to_s * 20] }.to_a.flatten.sum(&:size)
      def work = Array.new(4) { |i| Thread.new { 500.times.sum { |n| text(n) } + i } }.sum(&:value)
      sums = Array.new(8) { work }
      assert_equal 1, sums.uniq.size
      assert_operator GC.sample_profile.rows.size, :>, 10
    RUBY
    # Where threads change often RJIT's code goes wrong by itself: of the unpatched Ruby 4 runs in 60 at a slice of 1 ms.
    slice = ENV["RUBY_THREAD_TIMESLICE"]
    ENV["RUBY_THREAD_TIMESLICE"] = "100"
    assert_malloc(script, "interval=1,max-samples=none,malloc=1k", args: ["--rjit", "--rjit-call-threshold=2"])
  ensure
    ENV["RUBY_THREAD_TIMESLICE"] = slice
  end

  # Blocks far larger than the interval are sampled for sure: the count is exact. jemalloc rounds 983,001 bytes up to whole
  # pages of 4 or 64 KiB, 983,040. What the VM itself allocates there in small blocks is sampled by chance, and counts 16 KiB then.
  LINES = <<~'RUBY'
    def keep(n) = Array.new(n) { "x" * 983_000 }
    def drop(n) = n.times { "x" * 983_000 }
    kept = keep(20)
    drop(20)
    GC.start
    rows = malloc_rows
    large = rows.select { |row| row.inuse.space > row.inuse.objects * 900_000 }
    assert_equal [20, 20 * 983_040], under("Object#keep", large).map(&:round)
    assert_in_delta 20 * 983_040, under("Object#keep", rows)[1], 1 << 18
    assert_operator under("Object#drop", rows)[1], :<=, 1 << 20     # a reference may be left on the stack
    row = rows.max_by { |candidate| candidate.inuse.space }
    assert_equal ["String#*", "block in Object#keep"], ruby_frames(row).first(2).map(&:label)
    assert_equal keep_line, ruby_frames(row)[0].lineno
    native = row.stack.take_while { |frame| frame.lineno.zero? }
    assert_include native.map(&:label), "rb_str_times"
    kept.clear
    GC.start
    assert_operator under("Object#keep")[1], :<=, 1 << 20
  RUBY

  def test_lines
    assert_malloc("keep_line = __LINE__ + 1\n#{LINES}")
    assert_malloc("keep_line = __LINE__ + 1\n#{LINES}", args: ["--yjit"]) if RbConfig::CONFIG["YJIT_SUPPORT"] == "yes"
  end

  # Sums over random samples of small blocks: six standard deviations of the variance in the profile.
  def test_small_blocks
    assert_malloc(<<~'RUBY')
      sizes = [700, 1500, 3000, 6000]       # usable: 768, 1536, 3072, 6144
      usable = [768, 1536, 3072, 6144]
      kept = sizes.map { |size| Array.new(4000) { String.new(capacity: size) } }
      rows = malloc_rows.select { |row| ruby_frames(row).any? { |frame| frame.lineno == __LINE__ - 1 } }
      truth = usable.sum * 4000
      bytes = rows.sum { |row| row.inuse.space }
      sd = Math.sqrt(rows.sum { |row| row.inuse.variance })
      assert_operator (bytes - truth).abs, :<, 6 * sd + truth * 0.02, "#{bytes} for #{truth}, sd #{sd}"
    RUBY
  end

  def test_settings
    run = lambda do |settings, *args|
      code = 's = GC::SampleProfile.stat; p [s[:malloc], s[:malloc_interval], s[:running]]'
      IO.popen([{ "RUBY_HEAP_SAMPLE" => nil }, RbConfig.ruby, "--disable=gems", *args, *("--heap-sample=#{settings}" if settings),
                "-e", code], err: [:child, :out], &:read)
    end
    assert_equal "[:on, 524288, true]\n", run["output=none"]
    assert_equal "[:on, 65536, true]\n", run["output=none,malloc=64k"]
    assert_equal "[:off, nil, true]\n", run["output=none,malloc=off"]
    assert_equal "[:standby, 524288, true]\n", run["output=none,malloc=standby"]
    assert_equal "[:standby, 524288, false]\n", run["off,malloc=standby"]
    assert_equal "[:missing, nil, false]\n", run[nil]
    assert_equal "[:on, 300000, true]\n", run["output=none,malloc=300000"]
    assert_match(/malloc=banana.*on, off, standby/, run["malloc=banana"])
    # as an argument of another option, or of the script
    assert_equal "[:missing, nil, false]\n", run[nil, "-I", "--heap-sample"]
    assert_equal "[:on, 524288, true]\n", run["output=none", "-I", "lib", "-W:no-experimental", "-rpp", "--encoding", "utf-8"]
    assert_separately(["--disable=gems"], <<~'RUBY')
      assert_match(/start it with --heap-sample/, GC::SampleProfile.stat[:malloc_missing])
      assert_raise_with_message(RuntimeError, /--heap-sample/) { GC::SampleProfile.start(malloc: true) }
      assert_equal false, GC::SampleProfile.running?
      GC::SampleProfile.start
      assert_equal :missing, GC::SampleProfile.stat[:malloc]
      assert_kind_of GC::SampleProfile, GC.sample_profile
    RUBY
  end

  def test_start_and_stop
    assert_malloc(<<~'RUBY', "off,malloc=standby")
      def early = "x" * 5_000_000
      def middle = "x" * 5_000_000
      def late = "x" * 5_000_000
      kept = [early]
      GC::SampleProfile.start
      assert_equal :on, stat(:malloc)
      kept << middle
      rows = malloc_rows
      # In blocks of so many bytes: a small one of the VM's may be a sample, too, and would count as many.
      assert_equal [0, 1], ["Object#early", "Object#middle"].map { |label| (under(label, rows)[1] / 5_000_000).round }
      GC::SampleProfile.stop
      assert_equal :standby, stat(:malloc)
      kept << late
      GC::SampleProfile.start
      assert_equal [0, 0], under("Object#late").map(&:round)        # it was not sampling then
      assert_equal 0, under("Object#middle")[0].round               # begun anew
    RUBY
    assert_malloc(<<~'RUBY', "malloc=standby")
      assert_equal :standby, stat(:malloc)
      assert_equal false, GC::SampleProfile.start(malloc: false)
      assert_equal :standby, stat(:malloc)
      assert_equal false, GC::SampleProfile.start(malloc: true)
      assert_equal :on, stat(:malloc)
    RUBY
  end

  # Names are from the code that ran, also where it was freed and its address belongs to other code by now.
  def test_code_that_dies
    assert_malloc(<<~'RUBY', "malloc=8k")
      kept = {}
      30.times do |round|
        20.times do |i|
          name = "made_#{round}_#{i}"
          eval "def #{name} = 'x' * 200_000"
          kept[name] = send(name)
          Object.send(:remove_method, name)
        end
        GC.start if round % 3 == 0
        GC.compact if round % 10 == 5 && GC.respond_to?(:compact)
      end
      # At 8 KiB one of 600 is missed in one run of 60 million. In bytes: where a table of the VM's has to grow under one of
      # them and is sampled, it stands for 8 KiB.
      bytes = Hash.new(0)
      malloc_rows.each { |row| row.stack.each { |frame| bytes[frame.label] += row.inuse.space } }
      kept.each_key { |name| assert_includes 200_000..260_000, bytes["Object##{name}"], name }
    RUBY
  end

  # A thread that has no GVL allocates (getaddrinfo(3) in a thread of its own); so do threads that have, at the same
  # time; and GC.
  def test_threads
    assert_malloc(<<~'RUBY', "malloc=4k")
      require "socket"
      stop = alone = false
      threads = 8.times.map do |i|
        Thread.new do
          until stop || (alone && i % 4 != 2)
            case i % 4
            when 0 then Array.new(200) { |n| "a" * (n * 20) }
            when 1 then GC.sample_profile
            when 2 then Addrinfo.getaddrinfo("localhost", 80)
            else h = {}; 500.times { |n| h[n] = "b" * 700 }
            end
          end
        end
      end
      kept = Array.new(15) { sleep 0.01; "x" * 983_000 }
      kept_line = __LINE__ - 1
      # Where getaddrinfo allocates little, as musl's, it needs more calls than it gets beside the others.
      [5, 60].each do |seconds|
        deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
        sleep 0.01 until stat(:malloc_samples_without_gvl) > 0 || Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
        alone = true
      end
      GC.start
      stop = true
      threads.each(&:join)
      assert_operator stat(:malloc_samples_without_gvl), :>, 0
      assert_equal 0, stat(:malloc_samples_dropped)
      rows = malloc_rows.select { |row| ruby_frames(row).first&.lineno == kept_line }
      # By bytes: one sample of a small block of the same line would stand for a hundred objects.
      assert_equal 15, (rows.sum { |row| row.inuse.space } / 983_040).round
      labels = malloc_rows.flat_map { |row| row.stack.map(&:label) }
      assert_not_include labels, "(not named yet)"
    RUBY
  end

  # Threads that come one after the other get the same address; each draws samples of its own all the same. Each of 50
  # blocks is sampled with p = 0.39. So 23 of 200 threads have the number of samples that most have; 48 in one of 10^6 runs.
  def test_threads_at_the_same_address
    assert_malloc(<<~'RUBY', "interval=16k,malloc=16k")
      def text = String.new(capacity: 8191)
      kept = []
      taken = Array.new(200) do
        before = stat(:malloc_samples_taken)
        kept << Thread.new { Array.new(50) { text } }.value
        stat(:malloc_samples_taken) - before
      end
      assert_operator taken.tally.values.max, :<, 48, taken.tally
      assert_in_epsilon 200 * 50 * 8192, under("text").last, 0.08
    RUBY
  end

  # Children of one parent take samples of their own, in the thread that forked and in others. Each of 16 blocks is sampled
  # with p = 0.39. By chance two pairs of children are alike in 3 of 10^9 runs.
  def test_children_of_one_parent
    assert_malloc(<<~'RUBY', "interval=1g,malloc=16k")
      def text = String.new(capacity: 8191)
      def take = Array.new(16) { before = stat(:malloc_samples_taken); text; stat(:malloc_samples_taken) - before }.join
      [-> { take }, -> { Thread.new { take }.value }].each do |taking|
        pipes = Array.new(8) { IO.pipe }
        children = pipes.map { |_, output| fork { output.write(taking.call); exit! } }
        children.each { |pid| Process.wait(pid) }
        taken = pipes.map { |input, output| output.close; input.read }
        assert_operator taken.uniq.size, :>=, 7, taken
      end
    RUBY
  end

  # Without YJIT: with it, the same program crashes in unpatched Ruby too (doc/reliability.md).
  def test_ractors
    assert_malloc(<<~'RUBY', "malloc=4k,interval=4k", env: {"RUBY_YJIT_ENABLE" => nil}, args: ["-W0"])
      def work(n) = Array.new(n) { |i| "x" * (600 + i % 700) }
      ractors = 3.times.map { Ractor.new { 30.times { work(300) }; work(2000) } }
      GC.start
      GC.compact if GC.respond_to?(:compact)
      kept = ractors.map(&:take)
      bytes = kept.flatten.sum { |string| [768, 896, 1024, 1280, 1536].find { |size| size > string.bytesize } || string.bytesize }
      estimate = under("Object#work")[1]
      assert_in_delta bytes, estimate, bytes * 0.25
    RUBY
  end

  def test_fork_under_load
    assert_malloc(<<~'RUBY', "malloc=4k")
      stop = false
      threads = 3.times.map { Thread.new { Array.new(100) { |n| "a" * (n * 30) } until stop } }
      def before = "x" * 3_000_000
      def after = "x" * 3_000_000
      kept = before
      6.times do
        printed = IO.popen("-") do |child|
          next child.read if child
          more = after
          profile = GC.sample_profile
          rows = malloc_rows(profile)
          # As above, in blocks.
          print ["Object#before", "Object#after"].map { |label| (under(label, rows)[1] / 3_000_000).round }
          info = profile.to_profile.info
          print " ", info.malloc_state, info.malloc_missing, GC::SampleProfile.stat, rows.flat_map { |row| row.stack.last.label }.tally
          $stdout.flush
          exit!
        end
        assert_match(/\A\[1, 1\] on/, printed)
      end
      assert_equal 0, under("Object#after")[0].round
      stop = true
      threads.each(&:join)
    RUBY
  end

  def test_exit_under_load
    code = 'ran = Queue.new; 6.times { Thread.new { loop { Array.new(100) { |n| "a" * (n * 30) }; ran << 1 } } }; 60.times { ran.pop }; exit 7'
    3.times do
      [{}, { "RUBY_FREE_AT_EXIT" => "1" }].each do |env|
        system(env, RbConfig.ruby, "-W0", "--disable=gems", "--heap-sample=output=none,malloc=4k,interval=4k", "-e", code,
               err: File::NULL)
        assert_equal 7, $?.exitstatus
      end
    end
  end

  def test_no_file_is_left
    assert_malloc(<<~'RUBY')
      GC.sample_profile
      before = Dir.children("/proc/self/fd").size
      20.times { GC.sample_profile }
      assert_equal before, Dir.children("/proc/self/fd").size
    RUBY
  end

  # Stacks that nothing stands on any more make room for others.
  def test_stacks_are_freed
    assert_malloc(<<~'RUBY')
      most = 0
      8.times do |round|
        eval((0...3000).map { |i| "def made_#{round}_#{i} = 'x' * 20_000" }.join("\n"))
        3000.times { |i| send("made_#{round}_#{i}") }
        GC.start
        3.times { GC.sample_profile }
        most = [most, stat(:malloc_stacks)].max
      end
      assert_operator most, :<, 9000
      assert_operator stat(:bytes_malloc), :<, 4 << 20
    RUBY
  end

  # Many blocks live, and the lines that allocated often fill the rest of the 6,144 places: at least a sixth of them becomes free
  # for new lines, whose blocks would otherwise have no stack until the next folding.
  def test_lines_that_allocated_often_leave_room_for_new_ones
    assert_malloc(<<~'RUBY', "malloc=16k,interval=1g,seed=1")
      def define(name, count) = eval(Array.new(count) { |i| "def #{name}_#{i} = String.new(capacity: 60_000)" }.join("\n"))
      define(:kept, 3800)
      kept = Array.new(3800) { |i| send("kept_#{i}") }
      GC.sample_profile
      [[700, 32], [250, 16], [220, 8], [180, 4]].each do |count, times|
        define("often_#{times}", count)
        times.times { count.times { |i| send("often_#{times}_#{i}").clear } }
      end
      define(:once, 3000)
      stacks = Array.new(3000) { |i| send("once_#{i}").clear; stat(:malloc_stacks) }
      assert_operator stacks.max, :>, 5500
      assert_operator stacks.last(1000).min, :<, 6144 / 6 * 5
      assert_equal 16 << 10, stat(:malloc_interval)
      assert_equal 3800, kept.size
    RUBY
  end

  def test_deep_stack
    assert_malloc(<<~'RUBY', "malloc=16k")
      def deep(n) = n.zero? ? "x" * 1_000_000 : deep(n - 1)
      kept = deep(2000)
      # A cache that the first calls allocate may be sampled too.
      rows = malloc_rows.select { |candidate| candidate.stack.any? { |frame| frame.label == "Object#deep" } }
      row = rows.max_by { |candidate| candidate.inuse.space }
      assert_equal "(truncated)", row.stack.last.label
      assert_operator row.stack.size, :<, 512 + 30
    RUBY
  end

  def test_places_without_ruby_code
    assert_malloc(<<~'RUBY', "malloc=512")
      100_000.times.map { Object.new }
      GC.start
      labels = malloc_rows.map { |row| row.stack.last.label }.uniq
      assert_include labels, "(boot)"
      assert_operator stat(:malloc_samples_in_gc), :>, 0
    RUBY
  end
end
