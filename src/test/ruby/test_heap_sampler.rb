# frozen_string_literal: false
require 'test/unit'
require 'tempfile'
require 'tmpdir'

# GC.sample_profile and GC::SampleProfile.
class TestHeapSampler < Test::Unit::TestCase
  # The columns of a row by name, in every script.
  def assert_separately(args, script, **options) = super(args, "C = GC::SampleProfile.raw_columns; " + script, **options)

  def assert_sampler(script, args: [], **options)
    assert_separately(["-W1", "--disable=gems", *args], script, timeout: 120, **options)
  end

  def test_start_and_stop
    assert_sampler(<<~'RUBY')
      assert_equal false, GC::SampleProfile.running?
      assert_equal false, GC::SampleProfile.stop
      assert_raise_with_message(RuntimeError, /--heap-sample/) { GC.sample_profile }
      assert_equal true, GC::SampleProfile.start
      assert_equal true, GC::SampleProfile.running?
      assert_equal 524288, GC::SampleProfile.stat[:interval]
      assert_equal false, GC::SampleProfile.start
      assert_equal false, GC::SampleProfile.start(interval: 4096)
      assert_equal 4096, GC::SampleProfile.stat[:interval]
      assert_kind_of GC::SampleProfile, GC.sample_profile
      assert_equal true, GC::SampleProfile.stop
      assert_equal false, GC::SampleProfile.running?
      assert_equal 0, GC::SampleProfile.stat[:live_samples]
    RUBY
  end

  # Threads call its methods while one of them loads the library: at no line of it is a method missing.
  def test_the_library_loads_beside_calls
    assert_sampler(<<~'RUBY', args: ["--heap-sample=output=none"])
      once, all = GC::SampleProfile.instance_methods(false), GC::SampleProfile.singleton_methods(false)
      once -= [:respond_to?]
      assert_include once, :inspect
      assert_include all, :load
      profile = GC.sample_profile
      threads = []
      missing = []
      lines = 0
      look = TracePoint.new(:line) do |event|
        next unless event.path.end_with?("heapsample/sample_profile.rb")
        lines += 1
        threads << Thread.new { [profile.rows.size, profile.respond_to?(:top), profile.top.class] }
        missing |= once.reject { GC::SampleProfile.method_defined?(_1) } + all.reject { GC::SampleProfile.respond_to?(_1) }
      end
      warnings = EnvUtil.verbose_warning { look.enable { assert_raise(Errno::ENOENT) { GC::SampleProfile.load("none.pb") } } }
      assert_equal "", warnings
      assert_operator lines, :>, 20
      assert_equal [], missing
      assert_equal [[profile.rows.size, true, HeapSample::Top]], threads.map(&:value).uniq
      assert_not_respond_to profile, :nothing
      assert_raise(NoMethodError) { profile.nothing }
    RUBY
  end

  # 20,000 lines, two stacks of 512 frames each, are more than the library reads: the file leaves their outermost callers out.
  def test_a_file_of_very_many_frames_can_be_read
    assert_sampler(<<~'RUBY', args: ["--heap-sample=interval=1,max-samples=none,output=none,malloc=off"])
      require "tempfile"
      class Thing; end
      eval("def leaf(list)\n#{"list << Thing.new\n" * 20_000}end", nil, "leaf.rb", 0)
      def deep(depth, list) = depth.zero? ? leaf(list) : deep(depth - 1, list)
      deep(600, kept = [])
      Tempfile.create(["deep", ".pb.gz"]) do |file|
        GC.sample_profile.save(file.path)
        profile = GC::SampleProfile.load(file.path)
        rows = profile.table.select { |row| profile.texts[row[C[:class]]] == "Thing" }
        assert_equal 20_000, rows.sum { |row| row[C[:alloc_objects]] }
        assert_equal 20_000, rows.map { |row| row[C[:stack]] }.uniq.size
        names = profile.stacks.frame_ids(rows[0][C[:stack]]).map { |id| profile.stacks.frame(id).label }
        assert_equal ["Class#new", "Object#leaf", "(truncated)"], names.values_at(0, 1, -1)
        assert_include 200..300, names.size
      end
    RUBY
  end

  def test_settings_hold_until_stop
    assert_sampler(<<~'RUBY', args: ["--heap-sample=max-samples=3000,interval=8k,output=none,malloc=off"])
      now = -> { GC::SampleProfile.stat.values_at(:max_samples, :interval) }
      seed = -> { GC.sample_profile.to_profile.meta["settings"]["seed"] }
      assert_equal [3000, 8192], now.call
      GC::SampleProfile.stop
      assert_equal true, GC::SampleProfile.start(max_samples: 5000, seed: 3)
      assert_equal [5000, 8192], now.call
      assert_equal "3", seed.call
      GC::SampleProfile.stop
      assert_equal true, GC::SampleProfile.start
      assert_equal [3000, 8192], now.call
      assert_nil seed.call
    RUBY
    assert_sampler(<<~'RUBY')
      GC::SampleProfile.start(max_samples: nil, interval: 4096)
      GC::SampleProfile.stop
      GC::SampleProfile.start
      assert_equal [200_000, 524_288], GC::SampleProfile.stat.values_at(:max_samples, :interval)
    RUBY
  end

  # What is given to a start of what runs holds from there on.
  def test_start_of_what_runs
    assert_sampler(<<~'RUBY')
      GC::SampleProfile.start(interval: 64, malloc: false)
      kept = Array.new(50_000) { Object.new }
      before = GC::SampleProfile.stat
      assert_operator before[:live_samples], :>, 10_000
      assert_equal false, GC::SampleProfile.start(max_samples: 500)
      after = GC::SampleProfile.stat
      assert_equal 500, after[:max_samples]
      assert_include 100..500, after[:live_samples]
      raw = GC.sample_profile(full_gc: true).raw
      rows = raw[:rows].select { |row| row[C[:class]] == raw[:texts].index("Object") }
      error = Math.sqrt(rows.sum { |row| row[C[:inuse_variance]] }) / GC.stat_heap(0, :slot_size)
      assert_in_delta kept.size, rows.sum { |row| row[C[:inuse_objects]] }, error * 6
      assert_raise(ArgumentError) { GC::SampleProfile.start(interval: 128, max_samples: 0) }
      assert_equal after.slice(:interval, :max_samples), GC::SampleProfile.stat.slice(:interval, :max_samples)
      sequence = lambda do
        GC::SampleProfile.start(seed: 8)
        GC.sample_profile.to_profile.meta["settings"]["seed"]
      end
      assert_equal "8", sequence.call
    RUBY
  end

  # Their Fibers are never resumed again: their sessions end with these.
  def test_abandoned_blocks
    assert_sampler(<<~'RUBY')
      def abandon(count) = count.times { Fiber.new { GC.sample_profile { Fiber.yield } }.resume }
      abandon(7)
      profile = 20.times.map { GC.sample_profile(interval: 1) { abandon(3); Array.new(100) { Object.new } } }.last
      assert_kind_of GC::SampleProfile, profile
      held = Array.new(2) { Fiber.new { GC.sample_profile { Fiber.yield } } }.each(&:resume)
      5.times { GC.start }
      assert_include 2..4, GC::SampleProfile.stat[:sessions]
      # Those that are only waiting go on, and end as others do.
      assert_equal [GC::SampleProfile] * 2, held.map { |fiber| fiber.resume.class }
      assert_operator GC::SampleProfile.stat[:sessions], :<=, 2
    RUBY
  end

  def test_periodic_profiles_go_on_after_stop_and_start
    Dir.mktmpdir do |dir|
      out, err, = EnvUtil.invoke_ruby(["--disable=gems", "--heap-sample=every=1,malloc=off,output=#{dir}/%p-%t.pb", "-e", <<~'RUBY', dir], "", true, true, timeout: 120)
        files = -> { Dir["#{ARGV[0]}/*.pb"] }
        GC::SampleProfile.stop
        at_stop = files.call
        sleep 2.5
        p files.call == at_stop
        GC::SampleProfile.start
        600.times { (files.call - at_stop).size < 2 ? sleep(0.1) : break }
        p (files.call - at_stop).size >= 2
        GC::SampleProfile.stop
      RUBY
      assert_equal "true\ntrue\n", out, err
    end
  end

  def test_bad_arguments
    assert_sampler(<<~'RUBY')
      [0, -1, "banana", 2**41, 2**80, nil, Object.new].each do |bad|
        assert_raise_with_message(ArgumentError, /interval/) { GC::SampleProfile.start(interval: bad) }
        assert_raise_with_message(ArgumentError, /interval/) { GC.sample_profile(interval: bad) {} }
      end
      assert_raise_with_message(ArgumentError, /max.samples/) { GC::SampleProfile.start(max_samples: 0) }
      assert_raise_with_message(ArgumentError, /seed/) { GC::SampleProfile.start(seed: "x") }
      assert_raise_with_message(ArgumentError, /threads/) { GC.sample_profile(threads: :some) {} }
      assert_raise_with_message(ArgumentError, /block/) { GC.sample_profile(interval: 1) }
      assert_raise(ArgumentError) { GC.sample_profile(colour: 1) {} }
      assert_equal false, GC::SampleProfile.running?
      assert_raise(NoMethodError) { GC::SampleProfile.new }
      assert_raise(TypeError) { GC::SampleProfile.allocate }
    RUBY
  end

  # Each is the first method of its snapshot that is called in Ruby code, which loads the library.
  def test_analyses
    assert_sampler(<<~'RUBY', args: ["--heap-sample=interval=4096,malloc=off,output=none"])
      class Kept; end
      kept = Array.new(20_000) { Kept.new }
      GC.start
      profile = GC.sample_profile(why: true)
      profile.rows
      reports = HeapSample::Reports.public_instance_methods(false)
      assert_include reports, :top
      reports.each do |name|
        report = profile.public_send(name)
        assert_match(/in 2\d,\d{3} objects|Kept|<main>/, report.to_s) unless name == :about
        assert_kind_of Hash, report.to_h
        assert_equal 1, report.inspect.lines.size
      end
      assert_equal 20_000, kept.size
    RUBY
    # 780 samples, give or take 28: either bound is six of these away.
    assert_sampler(<<~'RUBY', args: ["--heap-sample=interval=1024,malloc=off,output=none"])
      class Kept; end
      kept = Array.new(20_000) { Kept.new }
      GC.start
      part = GC.sample_profile.filter(class: "Kept")
      assert_equal ["Kept"], part.top(by: :class).map(&:key)
      low, high = part.top(by: :class, value: :inuse_objects).first.interval
      assert_operator low, :<, 24_000
      assert_operator high, :>, 17_000
      assert_equal 20_000, kept.size
    RUBY
  end

  def test_block
    assert_sampler(<<~'RUBY')
      class Kept; end
      kept = nil
      profile = GC.sample_profile(interval: 1) { kept = Array.new(100) { Kept.new } }
      raw = profile.raw
      name = raw[:texts].index("Kept")
      assert_equal 100, raw[:rows].select { |row| row[C[:class]] == name }.sum { |row| row[C[:alloc_samples]] }
      # A full GC follows the block: nothing is young; without it all is.
      GC.start
      parts = [{}, {full_gc: false}].map do |options|
        profile = GC.sample_profile(interval: 1, **options) { kept.concat(Array.new(100) { Kept.new }) }
        rows = profile.rows.select { |row| row.class_name.end_with?("Kept") }
        [rows.sum { |row| row.inuse.objects }, rows.sum { |row| row.young.objects }]
      end
      assert_equal([[100, 0], [0, 100]], parts)
      assert_equal 0, GC::SampleProfile.stat[:sessions]
      assert_equal 0, GC::SampleProfile.stat[:live_samples]
    RUBY
  end

  def test_block_that_raises_or_breaks
    assert_sampler(<<~'RUBY')
      assert_raise(ZeroDivisionError) { GC.sample_profile(interval: 1) { 1 / 0 } }
      assert_nil(GC.sample_profile(interval: 1) { break })
      assert_equal :thrown, catch(:out) { GC.sample_profile { throw :out, :thrown } }
      assert_equal 0, GC::SampleProfile.stat[:sessions]
    RUBY
  end

  def test_nested_sessions
    assert_sampler(<<~'RUBY')
      class Thing; end
      def count(profile)
        raw = profile.raw
        name = raw[:texts].index("Thing") or return 0
        raw[:rows].select { |row| row[C[:class]] == name }.sum { |row| row[C[:alloc_objects]] }
      end
      GC::SampleProfile.start(interval: 1, max_samples: nil)
      outer_keep = []
      inner = nil
      outer = GC.sample_profile(interval: 1) do
        outer_keep.concat(Array.new(50) { Thing.new })
        inner = GC.sample_profile(interval: 1) { outer_keep.concat(Array.new(70) { Thing.new }) }
        outer_keep.concat(Array.new(30) { Thing.new })
      end
      assert_equal 70, count(inner)
      assert_equal 150, count(outer)
      assert_equal 150, count(GC.sample_profile)

      nest = ->(depth) { depth == 0 ? 0 : GC.sample_profile { nest[depth - 1] } }
      nest[7]
      assert_raise(RuntimeError) { nest[8] }
      assert_equal 1, GC::SampleProfile.stat[:sessions]
    RUBY
  end

  def test_block_covers_its_thread
    assert_sampler(<<~'RUBY')
      class Mine; end
      class Theirs; end
      keep = []
      run = lambda do |**options|
        raw = GC.sample_profile(interval: 1, **options) do
          keep << Mine.new
          Thread.new { keep << Theirs.new }.join
        end.raw
        raw[:rows].select { |row| row[C[:alloc_samples]] > 0 }.map { |row| raw[:texts][row[C[:class]]] }
      end
      assert_include run.call, "Mine"
      assert_not_include run.call, "Theirs"
      assert_include run.call(threads: :all), "Theirs"
    RUBY
  end

  def test_seven_intervals_see_the_same_truth
    assert_sampler(<<~'RUBY')
      # Each session's estimate is within 6 standard errors of the truth, and the process's
      # own samples are not disturbed by a dense block.
      class Item; end
      estimate = lambda do |profile|
        raw = profile.raw
        name = raw[:texts].index("Item")
        rows = raw[:rows].select { |row| row[C[:class]] == name }
        [rows.sum { |row| row[C[:alloc_objects]] }, Math.sqrt(rows.sum { |row| row[C[:alloc_variance]] }) / GC.stat_heap(0, :slot_size)]
      end
      GC::SampleProfile.start(interval: 4000, seed: 42)
      keep = nil
      block = GC.sample_profile(interval: 400) { keep = Array.new(100_000) { Item.new } }
      [block, GC.sample_profile].each do |profile|
        objects, error = estimate[profile]
        assert_in_delta 100_000, objects, error * 6
        assert_operator error, :>, 0
      end
    RUBY
  end

  def test_max_samples_widens_the_interval_without_bias
    assert_sampler(<<~'RUBY')
      class Item; end
      GC::SampleProfile.start(interval: 64, max_samples: 2000, seed: 7)
      keep = Array.new(200_000) { Item.new }
      GC.start
      stat = GC::SampleProfile.stat
      # Half of the cap stays after each widening: it ends between that and the cap.
      assert_include 700..2000, stat[:live_samples]
      assert_include [4096, 8192], stat[:interval]
      raw = GC.sample_profile.raw
      name = raw[:texts].index("Item")
      rows = raw[:rows].select { |row| row[C[:class]] == name }
      objects = rows.sum { |row| row[C[:inuse_objects]] }
      error = Math.sqrt(rows.sum { |row| row[C[:inuse_variance]] }) / GC.stat_heap(0, :slot_size)
      assert_in_delta 200_000, objects, error * 6
    RUBY
  end

  def test_caps_of_few_samples
    (1..9).each do |cap|
      assert_sampler(<<~RUBY)
        GC::SampleProfile.start(interval: 4096, max_samples: #{cap}, seed: 5, malloc: false)
        keep = []
        most = 0
        20_000.times do |i|
          keep << Object.new
          next unless (i % 10).zero?
          held = GC::SampleProfile.stat[:live_samples]
          most = held if held > most
        end
        assert_equal #{cap}, most
      RUBY
    end
  end

  # At the longest interval that there is, the cap gives way: nothing can be thinned.
  def test_a_cap_at_the_longest_interval
    assert_sampler(<<~'RUBY')
      GC::SampleProfile.start(interval: 1, max_samples: 1, malloc: false)
      GC.sample_profile(interval: 1 << 40) { Array.new(100_000) { Object.new }; nil }
      assert_operator GC::SampleProfile.stat[:interval], :<=, 1 << 40
      assert_operator GC::SampleProfile.stat[:live_samples], :<=, 1
    RUBY
  end

  def test_intervals_go_up_and_down_and_up_under_a_cap
    assert_sampler(<<~'RUBY')
      class Coarse; end
      class Fine; end
      class Later; end
      counts = { "Coarse" => 400_000, "Fine" => 60_000, "Later" => 100_000 }
      right = lambda do |moment, *names|
        raw = GC.sample_profile(full_gc: true).raw
        names.each do |name|
          rows = raw[:rows].select { |row| row[C[:class]] == raw[:texts].index(name) }
          error = Math.sqrt(rows.sum { |row| row[C[:inuse_variance]] }) / GC.stat_heap(0, :slot_size)
          assert_in_delta counts[name], rows.sum { |row| row[C[:inuse_objects]] }, error * 6, "#{name}, #{moment}"
          assert_operator error, :>, 0
          assert_operator error, :<, counts[name] * 0.4, "#{name}, #{moment}"
        end
      end
      GC::SampleProfile.start(interval: 32 * 1024, max_samples: 4000, seed: 11, malloc: false)
      coarse = Array.new(counts["Coarse"]) { Coarse.new }
      right["at 32 KiB", "Coarse"]
      GC::SampleProfile.start(interval: 1024)
      fine = Array.new(counts["Fine"]) { Fine.new }
      right["at 1 KiB", "Coarse", "Fine"]
      GC.sample_profile(interval: 1) { Array.new(20_000) { Object.new }; nil }
      right["after a block at the cap", "Coarse", "Fine"]
      later = Array.new(counts["Later"]) { Later.new }
      assert_operator GC::SampleProfile.stat[:interval], :>, 1024
      right["at the cap", "Coarse", "Fine", "Later"]
      GC::SampleProfile.start(interval: 64 * 1024)
      GC.sample_profile(interval: 1) { Array.new(20_000) { Object.new }; nil }
      right["at 64 KiB and the cap", "Coarse", "Fine", "Later"]
      assert_equal counts.values, [coarse, fine, later].map(&:size)
    RUBY
  end

  def test_a_dense_block_that_fills_up_leaves_the_session_beside_it_as_it_is
    assert_sampler(<<~'RUBY')
      class Item; end
      class Extra; end
      estimate = lambda do |profile, name|
        raw = profile.raw
        rows = raw[:rows].select { |row| row[C[:class]] == raw[:texts].index(name) }
        [rows.sum { |row| row[C[:alloc_objects]] }, Math.sqrt(rows.sum { |row| row[C[:alloc_variance]] }) / GC.stat_heap(0, :slot_size)]
      end
      GC::SampleProfile.start(interval: 8000, max_samples: 3000, seed: 42)
      keep = Array.new(100_000) { Item.new }
      extra = nil
      block = GC.sample_profile(interval: 1) { extra = Array.new(50_000) { Extra.new } }
      stat = GC::SampleProfile.stat
      assert_equal 8000, stat[:interval]
      assert_operator block.to_profile.meta["settings"]["interval"], :>, 8
      [[GC.sample_profile, "Item", 100_000], [GC.sample_profile, "Extra", 50_000], [block, "Extra", 50_000]].each do |profile, name, count|
        objects, error = estimate[profile, name]
        assert_in_delta count, objects, error * 6, name
        assert_operator error, :<, count * 0.2, name
      end
      # Where it is the session that holds the most, it is that which takes fewer.
      more = Array.new(600_000) { Item.new }
      assert_operator GC::SampleProfile.stat[:interval], :>, 8000
    RUBY
  end

  # As its address decides, a heap page has a slot more or less. Where a seed samples the last slot of a page, what follows differs:
  # one seed in 50 here. Without a seed counts differ by some 10.
  def test_seed_repeats
    script = <<~'RUBY'
      GC::SampleProfile.start(interval: 65_536, seed: Integer(ARGV[0]))
      keep = Array.new(50_000) { |i| [i] }
      p GC::SampleProfile.stat[:samples_taken]
    RUBY
    counts = (1..3).map { |seed| Array.new(3) { Integer(EnvUtil.invoke_ruby(["--disable=gems", "-e", script, seed.to_s], "", true)[0]) } }
    assert_operator counts.count { |of_seed| of_seed.max - of_seed.min <= 1 }, :>=, 2, counts.inspect
    assert_operator counts.flatten.uniq.size, :>, 1, counts.inspect
  end

  def test_young_is_apart
    assert_sampler(<<~'RUBY')
      class Young; end
      GC::SampleProfile.start(interval: 1, max_samples: nil)
      GC.start
      GC.disable
      keep = Array.new(10) { Young.new }
      sums = lambda do
        raw = GC.sample_profile.raw
        name = raw[:texts].index("Young")
        rows = raw[:rows].select { |row| row[C[:class]] == name }
        [rows.sum { |row| row[C[:inuse_samples]] }, rows.sum { |row| row[C[:young_samples]] }]
      end
      assert_equal [0, 10], sums.call
      GC.enable
      GC.start
      assert_equal [10, 0], sums.call
    RUBY
  end

  def test_stack_of_and_object_of
    assert_sampler(<<~'RUBY')
      GC::SampleProfile.start(interval: 1, max_samples: nil)
      object = Object.new; line = __LINE__
      assert_equal line, GC::SampleProfile.raw_stack_of(object)[1][3]
      [nil, 1, :sym, 1.5].each { |special| assert_nil GC::SampleProfile.raw_stack_of(special) }
      assert_nil GC::SampleProfile.raw_stack_of(String)
      profile = GC.sample_profile(memsize: true)
      found = profile.raw_samples.find { |sample| GC::SampleProfile.object_of(sample[0]).equal?(object) }
      assert_equal 40, found[8]
      id = found[0]
      GC.compact if GC.respond_to?(:compact)
      assert_same object, GC::SampleProfile.object_of(id)
      object = found = nil
      assert_nil GC::SampleProfile.object_of(1 << 60)
      profile.raw_samples.each do |sample|
        object = GC::SampleProfile.object_of(sample[0])
        object.class if BasicObject === object
      end
    RUBY
  end

  def test_depth
    assert_sampler(<<~'RUBY')
      def down(n) = n == 0 ? Object.new : down(n - 1)
      GC::SampleProfile.start(interval: 1, max_samples: nil)
      object = down(600)
      stack = GC::SampleProfile.raw_stack_of(object)
      assert_equal 513, stack.size
      assert_equal "(truncated)", stack.last[0]
      assert_equal "Object#down", stack[1][0]
      # To the end of the stack and back
      endless = ->(n) { [n]; endless[n + 1] }
      assert_raise(SystemStackError) { endless[0] }
      assert_kind_of GC::SampleProfile, GC.sample_profile
    RUBY
  end

  # RJIT pushes frames without a pc, and its compiler, which is Ruby, runs on top of them.
  def test_frames_without_pc
    omit "RJIT lacks a write barrier" if GC::OPTS.include?("RGENGC_CHECK_MODE")
    omit "no RJIT here" unless defined?(RubyVM::RJIT) && system(EnvUtil.rubybin, "--disable=gems", "--rjit", "-e", "exit RubyVM::RJIT.enabled?")
    args = ["--disable=gems", "--rjit", "--rjit-call-threshold=1", "--heap-sample=interval=1,max-samples=none,malloc=off,output=none"]
    assert_separately(args, <<~'RUBY', timeout: 60)
      15.times do |i|
        eval "def m#{i}(a, b) = a.size > 3 ? [b].map { |x| n#{i}(x) } : n#{i}(b)\n" \
             "def n#{i}(x) = x.to_s.then { |s| s + 'y' }"
      end
      15.times { |i| 3.times { |k| assert_equal "#{k}y", [*send(:"m#{i}", 'a' * k * 2, k)][0] } }
    RUBY
  end

  # A row's columns are declared once in C and once in Ruby.
  def test_columns
    assert_sampler(<<~'RUBY')
      require "heapsample"
      assert_equal HeapSample::Columns::ALL.map(&:name), C.keys
      GC::SampleProfile.start(interval: 1)
      kept = Array.new(100) { Object.new }
      assert_equal [C.size], GC.sample_profile.raw[:rows].map(&:size).uniq
    RUBY
  end

  def test_save
    Dir.mktmpdir do |dir|
      assert_sampler(<<~RUBY)
        dir = #{dir.dump}
        GC::SampleProfile.start(interval: 256)
        keep = Array.new(10_000) { |i| [i.to_s] }
        profile = GC.sample_profile
        %w[a.pb.gz a.pb a.folded a.json].each do |name|
          path = File.join(dir, name)
          assert_equal profile.save(path), File.size(path)
          assert_equal 0100600, File.stat(path).mode
        end
        assert_raise_with_message(ArgumentError, /x\\.txt/) { profile.save(File.join(dir, "x.txt")) }
        assert_raise(Errno::ENOENT) { profile.save(File.join(dir, "none", "x.pb.gz")) }
        assert_raise(TypeError) { profile.save(1) }
        assert_raise(ArgumentError) { profile.save("a\\0b.pb.gz") }
        assert_equal %w[a.folded a.json a.pb a.pb.gz], Dir.children(dir).sort
      RUBY
    end
  end

  # Compaction protects heap pages for a while; a system call that is given a text in one fails with EFAULT. MRI's own
  # require does so: the first save, which loads the library, comes before.
  def test_save_while_another_thread_compacts
    omit "no compaction" unless GC.respond_to?(:compact)
    Dir.mktmpdir do |dir|
      assert_sampler(<<~RUBY, chdir: dir)
        GC::SampleProfile.start(interval: 4096)
        profile = GC.sample_profile
        profile.save("p0.pb")
        stop = false
        compacting = Thread.new { GC.compact until stop }
        40.times do |i|
          Array.new(300) { |j| "x\#{j}" }
          profile.save("p\#{i % 7}.pb".dup)
        end
        stop = true
        compacting.join
        assert_equal 7, Dir.children(".").size
      RUBY
    end
  end

  def test_rows_tell_memsize_where_it_was_asked_for
    assert_sampler(<<~'RUBY')
      GC::SampleProfile.start(interval: 1, max_samples: nil)
      class Holder; def initialize = @text = "x" * 100_000; end
      keep = Array.new(20) { Holder.new }
      strings = keep.map { |holder| holder.instance_variable_get(:@text) }
      profile = GC.sample_profile(full_gc: true, memsize: true)
      line = profile.rows.select { |row| row.class_name == "String" && row.stack.any? { |frame| frame.label.include?("Holder") } }
      require "objspace"
      assert_equal strings.sum { |text| ObjectSpace.memsize_of(text) }, line.sum { |row| row[:memsize] }
      assert_include profile.report.to_s, "with buffers"
      assert_equal true, profile.to_profile.info.memsize?
      plain = GC.sample_profile
      assert_equal 0, plain.rows.sum { |row| row[:memsize] }
      assert_not_include plain.report.to_s, "with buffers"
    RUBY
  end

  # Of 150,000 samples most were freed or moved before their turn comes: one by one, each of them would go
  # through all records.
  def test_memsize_of_what_dies_or_moves_meanwhile
    assert_sampler(<<~'RUBY')
      GC::SampleProfile.start(interval: 1, max_samples: nil)
      class Holder; def initialize = @text = "x" * 1_000; end
      spread = Array.new(150_000) { Object.new }
      keep = spread.each_slice(100).map { |part| part.clear; Holder.new }
      spread = Array.new(150_000) { Object.new }
      cpu = -> { Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) }
      rounds = 0
      thread = Thread.new do
        until spread.empty?
          spread.pop(10_000)
          rounds += 1
          GC.respond_to?(:compact) ? GC.compact : GC.start
        end
      end
      start = cpu.()
      profile = GC.sample_profile(memsize: true)
      took = cpu.() - start
      thread.join
      assert_operator rounds, :>, 10
      assert_operator took, :<, EnvUtil.apply_timeout_scale(15)
      of = profile.rows.select { |row| row.class_name == "String" && row.stack.any? { |frame| frame.label.include?("Holder") } }
      assert_operator of.sum { |row| row[:memsize] }, :>=, keep.size * 1_000
      assert_operator profile.raw_samples.size, :>, 100_000
    RUBY
  end

  # In one pass over all samples, not in one for each.
  def test_the_objects_of_many_samples
    assert_sampler(<<~'RUBY')
      cpu = -> { Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) }
      GC::SampleProfile.start(interval: 1, max_samples: nil, malloc: false)
      class Ticket; end
      kept = Array.new(200_000) { Ticket.new }
      GC::SampleProfile.start(interval: 1 << 30)
      gone = 1_000.times.map { kept.pop }
      profile = GC.sample_profile
      ids = profile.raw_samples.map(&:first)
      assert_operator ids.size, :>, 200_000
      find = lambda do
        began = cpu.()
        found = ids.map { |id| GC::SampleProfile.object_of(id) }
        assert_operator cpu.() - began, :<, EnvUtil.apply_timeout_scale(5)
        found.grep(Ticket)
      end
      assert_equal 200_000, find.call.uniq.size
      gone = nil
      GC.start
      assert_include 199_000..199_010, find.call.size
      if GC.respond_to?(:compact)
        GC.compact
        found = find.call
        assert_equal [], kept - found
        assert_include 199_000..199_010, found.size
      end
    RUBY
  end

  # 18,000 stacks of 1,500 frames: as text hundreds of megabytes, of which the bound holds a tenth.
  # What another Ractor has just taken is not yet an object, and what it works on is half made.
  def test_memsize_while_ractors_allocate
    assert_sampler(<<~'RUBY')
      Warning[:experimental] = false
      now = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
      finish = now.call + 8
      ractors = Array.new(3) do
        Ractor.new(finish) do |finish|
          i = 0
          while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish
            Object.new
            { a: i, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7, h: 8, i: 9, j: 10 }[:k] = [i += 1] * 40
            ("x" * 50) << "y" * 1000
          end
        end
      end
      while now.call < finish
        GC::SampleProfile.start(interval: 1, max_samples: 3000, malloc: false)
        sleep 0.001
        assert_kind_of GC::SampleProfile, GC.sample_profile(memsize: true)
        GC::SampleProfile.stop
      end
      ractors.each(&:take)
    RUBY
  end

  def test_a_text_that_does_not_fit_is_given_up_at_once
    Dir.mktmpdir do |dir|
      assert_sampler(<<~RUBY)
        eval("def leaf(list)\\n" + "list << Object.new\\n" * 15_000 + "end", nil, "leaf.rb", 0)
        def deep(depth, list) = depth.zero? ? leaf(list) : deep(depth - 1, list)
        GC::SampleProfile.start(interval: 1)
        deep(600, kept = [])
        profile = GC.sample_profile
        start = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
        assert_raise(Errno::ENOMEM) { profile.save(File.join(#{dir.dump}, "a.pb")) }
        assert_operator Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - start, :<, EnvUtil.apply_timeout_scale(3)
        profile.save(File.join(#{dir.dump}, "a.pb.gz"))
        assert_equal %w[a.pb.gz], Dir.children(#{dir.dump})
        stat = GC::SampleProfile.stat
        assert_operator stat[:bytes_peak], :<=, stat[:bytes_max]
      RUBY
    end
  end

  # The reader's limit of frames has room for what the sampler adds to the longest stack: its class, "(truncated)", C frames.
  def test_the_longest_stacks_can_be_read
    omit "malloc is not sampled here" if GC::SampleProfile.stat[:malloc_missing].to_s.include?("without jemalloc")
    Dir.mktmpdir do |dir|
      assert_sampler(<<~RUBY, args: ["-W0", "--heap-sample=off,malloc=standby,output=none"])
        require "heapsample"
        require "zlib"
        def down(n, kept) = n.zero? ? kept << Object.new << Zlib::Inflate.new << ("x" * 5_000) : down(n - 1, kept)
        GC::SampleProfile.start(interval: 1, malloc: 1)
        kept = Thread.new { down(1_000, []) }.value
        GC.sample_profile.save(file = File.join(#{dir.dump}, "a.pb.gz"))
        assert_operator HeapSample::Profile.load(file).rows.map { |row| row.stack.size }.max, :>, 512
      RUBY
    end
  end

  # Where each object costs a GC, a list of thousands takes seconds; an interrupt that would end it has to have its turn.
  def test_long_lists_give_way
    assert_sampler(<<~'RUBY', args: ["--heap-sample=interval=1,max-samples=none,output=none"])
      kept = Array.new(3_000) { Object.new }
      profile = GC.sample_profile
      %i[raw raw_samples].each do |list|
        done = meanwhile = false
        other = Thread.new do
          sleep 0.05
          meanwhile = !done
          GC.stress = false
        end
        GC.stress = true
        profile.public_send(list)
        done = true
        GC.stress = false
        other.join
        assert meanwhile, "no other thread ran while #{list} was made"
      end
    RUBY
  end

  def test_ractors
    assert_sampler(<<~'RUBY', ignore_stderr: true)
      Warning[:experimental] = false
      class Piece; end
      GC::SampleProfile.start(interval: 1, max_samples: nil)
      ractors = Array.new(3) { Ractor.new { keep = Array.new(500) { Piece.new }; GC.start; Ractor.yield(nil); Ractor.receive; keep.size } }
      ractors.each(&:take)
      raw = GC.sample_profile(full_gc: true).raw
      name = raw[:texts].index("Piece")
      assert_equal 1500, raw[:rows].select { |row| row[C[:class]] == name }.sum { |row| row[C[:inuse_samples]] + row[C[:young_samples]] }
      GC::SampleProfile.start(interval: 64)
      GC::SampleProfile.stop
      GC::SampleProfile.start(interval: 1, max_samples: nil)
      ractors.each { |r| r.send(nil) }
      assert_equal [500] * 3, ractors.map(&:take)
    RUBY
  end

  def test_threads_that_start_stop_and_read
    assert_sampler(<<~'RUBY')
      stop = false
      workers = Array.new(2) { Thread.new { until stop; Array.new(50) { |i| "#{i}" * 3 }; end } }
      200.times do |i|
        GC::SampleProfile.start(interval: [1, 64, 4096][i % 3])
        GC.sample_profile.raw if i % 5 == 0
        GC.sample_profile(interval: 128, threads: :all) { "x" * 100 } if i % 7 == 0
        GC.start if i % 11 == 0
        GC.compact if i % 37 == 0 && GC.respond_to?(:compact)
        GC::SampleProfile.stop if i % 2 == 0
      end
      stop = true
      workers.each(&:join)
      GC::SampleProfile.stop
      assert_equal 0, GC::SampleProfile.stat[:live_samples]
    RUBY
  end

  # A Ractor that waits for the VM lock to get a free page may find its list cut anew when it has it.
  def test_intervals_change_while_ractors_allocate
    assert_separately(["-W0", "--disable=gems"], <<~'RUBY', timeout: 120)
      GC::SampleProfile.start(interval: 4096)
      ractors = Array.new(3) { Ractor.new { 2_000.times { Array.new(20) { |i| "#{i} x" } }; :whole } }
      1_000.times { |i| GC::SampleProfile.start(interval: i.even? ? 64 : 4096); Array.new(20) { |n| n.to_s } }
      assert_equal [:whole] * 3, ractors.map(&:take)
    RUBY
  end

  # RubyGems' require takes a lock, which a trap may not.
  def test_text_in_a_trap
    script = <<~'RUBY'
      GC.sample_profile.report.to_s
      trap("USR2") { $text = begin; GC.sample_profile.report.to_s; rescue ThreadError => error; error.message; end }
      Process.kill(:USR2, $$)
      sleep 0.01 until $text
      puts defined?(Gem) ? $text[/\AHeap sample of/] || $text : "no gems"
    RUBY
    out, err, = EnvUtil.invoke_ruby(["-W0", "--heap-sample=interval=4k,output=none", "-e", script], "", true, true, timeout: 60)
    omit "no RubyGems" if out == "no gems\n"
    assert_equal "Heap sample of\n", out, err
  end

  # All of the library's constants can be shared.
  def test_text_in_a_ractor
    assert_sampler(<<~'RUBY', args: %w[-W0 --heap-sample=interval=400,output=none])
      class Leaf; end
      KEPT = Array.new(20_000) { Leaf.new }
      texts = Ractor.new do
        before = GC.sample_profile
        profile = GC.sample_profile(why: true)
        profile.public_send(:report)
        views = HeapSample::Reports.public_instance_methods(false).to_h { |view| [view, profile.public_send(view).to_s] }
        series = HeapSample::Series.new(Array.new(4) { GC.sample_profile.to_profile })
        views.merge(diff: (profile - before).report.to_s, html: (profile.to_html rescue $!.message), row: profile.rows.first.inspect, diagnosis: HeapSample::Diagnosis.new([series]).to_s, memory: GC::SampleProfile.memory.to_s)
      end.take
      assert_equal [], texts.select { |_, text| text.empty? }.keys
      assert_match(/KEPT/, texts[:why])
    RUBY
  end

  # A snapshot lets other threads run; one that loses its session meanwhile says so.
  def test_a_snapshot_whose_session_is_stopped
    assert_sampler(<<~'RUBY')
      tries = Array.new(20) do
        GC::SampleProfile.start(interval: 1)
        kept = Array.new(50_000) { Object.new }         # copying these gives the other thread its chance
        go = Queue.new
        stopper = Thread.new { go.pop; GC::SampleProfile.stop }
        Thread.pass until stopper.stop?
        go << true
        begin
          GC.sample_profile
        rescue RuntimeError => e
          e.message
        end.tap { stopper.join }
      end
      assert_include tries, "nothing is being sampled; sampling was stopped while the profile was taken"
    RUBY
  end

  def test_fork_under_load
    omit "no fork" unless Process.respond_to?(:fork)
    assert_sampler(<<~'RUBY')
      GC::SampleProfile.start(interval: 64)
      stop = false
      worker = Thread.new { until stop; Array.new(100) { |i| [i.to_s] }; GC.sample_profile; end }
      pids = Array.new(20) { fork { Array.new(1000) { |i| [i] }; GC.start; exit!(GC.sample_profile.raw[:rows].empty? ? 1 : 0) } }
      assert_equal [true] * 20, pids.map { |pid| Process.wait2(pid)[1].success? }
      stop = true
      worker.join
    RUBY
  end
end
