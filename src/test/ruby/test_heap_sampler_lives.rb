# frozen_string_literal: false
require 'test/unit'

# A process that compiles code for as long as it lives: names that nothing refers to any more make room for new ones.
class TestHeapSamplerLives < Test::Unit::TestCase
  # SLOW_LIVES=1000000 compiles a million lines.
  LINES = Integer(ENV.fetch("SLOW_LIVES", 150_000))

  PRELUDE = <<~'RUBY'
    C = GC::SampleProfile.raw_columns
    SLOT = GC.stat_heap(0, :slot_size)         # of a small object: 40, or 48 in a debug build

    # Compiles so many methods, each on a line of its own, in a file of its own for each `per_file`, and calls each once.
    def compile(lines, per_file, body = "Array.new(12) { Object.new }")
      $files = $files.to_i
      (lines / per_file).times do
        made = Module.new
        text = Array.new(per_file) { |i| "def self.m#{$files}_#{i} = #{body}" }.join("\n")
        made.module_eval(text, "/made/#{$files}.rb", 1)
        per_file.times { |i| made.send(:"m#{$files}_#{i}") }
        $files += 1
      end
    end

    class Leak; end
    $leak = []
    def leak_here = 3_000.times { $leak << Leak.new << ("y" * 20_000) }
    LEAK = "#{__FILE__}:#{__LINE__ - 1}"

    def rows = GC.sample_profile(full_gc: true).rows
    def at_leak(rows) = rows.select { |row| row.stack.any? { |frame| "#{frame.path}:#{frame.lineno}" == LEAK && frame.label == "Object#leak_here" } }

    # Within six standard errors.
    def assert_estimate(bytes, rows)
      assert_operator rows.sum { |row| row.inuse.samples }, :>, 3     # at the longest interval 16 are expected
      assert_in_delta bytes, rows.sum { |row| row.inuse.space }, 6 * Math.sqrt(rows.sum { |row| row.inuse.variance }) + 1_000
    end

    # The line, the method and the class of what leaks, in slots and in malloc.
    def assert_named
      leak_here
      here = at_leak(rows)
      slots, mallocs = here.partition { |row| row.class_name != "(malloc)" }
      leaks = slots.select { |row| row.class_name == "Leak" }
      assert_estimate 3_000 * SLOT, leaks
      assert_estimate 3_000 * 20_480, mallocs if GC::SampleProfile.stat[:malloc] == :on
    end

    # Each sample that was ever taken is in a row, whatever of its stack is still known. A profile that is garbage may take
    # the room of the next, which is then made at the second attempt: the first counts as a failed allocation.
    def assert_whole(failures = 0)
      profile = GC.sample_profile(full_gc: true)
      taken = GC::SampleProfile.stat[:samples_taken]
      allocated = profile.raw[:rows].sum { |row| row[C[:malloc]] ? 0 : row[C[:alloc_samples]] }
      assert_in_delta taken, allocated, 1_000
      assert_equal 0, GC::SampleProfile.stat[:dropped_samples]
      assert_operator GC::SampleProfile.stat[:failed_allocations], :<=, failures, GC::SampleProfile.stat.inspect
      assert_operator GC::SampleProfile.stat[:bytes_peak], :<=, 64 << 20
    end
  RUBY

  def assert_lives(script, settings: "interval=64,max-samples=20000,malloc=64k,output=none")
    args = ["-W1", "--disable=gems", "--heap-sample=#{settings}"]
    assert_separately(args, PRELUDE + script, timeout: 300 + LINES / 500)
  end

  def test_a_leak_is_named_after_many_lines
    assert_lives(<<~RUBY)
      compile(#{LINES}, 1_000)
      assert_named
      assert_whole
      assert_equal 0, GC::SampleProfile.stat[:dropped_frames]
    RUBY
  end

  def test_a_leak_is_named_after_many_files
    assert_lives(<<~RUBY)
      compile(#{LINES / 4}, 1, "Array.new(12) { 'x' * 30_000 }")
      assert_named
      assert_whole
      assert_equal 0, GC::SampleProfile.stat[:dropped_texts]
    RUBY
  end

  def test_a_leak_is_named_after_many_classes
    assert_lives(<<~RUBY)
      #{LINES / 3}.times do |i|
        Object.const_set(:"Made\#{i}", Class.new)
        Array.new(12) { Object.const_get(:"Made\#{i}").new }
        Object.send(:remove_const, :"Made\#{i}")
      end
      assert_named
      assert_whole
      assert_equal 0, GC::SampleProfile.stat[:dropped_classes]
    RUBY
  end

  # Deep stacks of live objects fill the tree of frames, and are freed.
  def test_a_leak_is_named_after_many_live_stacks
    assert_lives(<<~RUBY, settings: "interval=1,output=none")
      def first(depth, path) = depth.zero? ? Object.new : path[depth % 10].zero? ? first(depth - 1, path) : second(depth - 1, path)
      def second(depth, path) = depth.zero? ? Object.new : path[depth % 10].zero? ? first(depth - 1, path) : second(depth - 1, path)
      kept = [500, 10].flat_map { |depth| Array.new(1_000) { |path| first(depth, path) } }
      assert_operator GC::SampleProfile.stat[:dropped_stacks], :>, 0
      kept.clear
      GC.start
      sleep 3         # full tables are folded again after 2 s
      def leak = 100.times { $leak << Leak.new }
      leak
      leaks = rows.select { |row| row.class_name == "Leak" && row.stack.any? { |frame| frame.label == "Object#leak" } }
      assert_in_delta 100, leaks.sum { |row| row.inuse.objects }, 1
    RUBY
  end

  # Lines whose objects live are known all the time.
  def test_what_lives_keeps_its_names
    assert_lives(<<~RUBY)
      leak_here
      def self.of(profile) = profile.raw.then { |raw| [raw[:frames], raw[:nodes], raw[:texts]].hash }
      held = GC.sample_profile
      before = of(held)
      leaks = -> { at_leak(rows).select { |row| row.class_name == "Leak" } }
      3.times do
        compile(#{LINES / 5}, 500)
        assert_estimate 3_000 * SLOT, leaks.call
        assert_equal before, of(held)
        stack = GC::SampleProfile.stack_of($leak.find { |object| GC::SampleProfile.stack_of(object) })
        assert_include stack.map(&:label), "Object#leak_here"
      end
    RUBY
  end

  # What only a sampling that is over referred to is gone when the next one begins.
  def test_stop_and_start
    assert_lives(<<~RUBY)
      compile(40_000, 1_000)
      assert_operator GC::SampleProfile.stat[:frames], :>, 20_000
      GC::SampleProfile.stop
      assert_operator GC::SampleProfile.stat[:frames], :<, 1_000
      assert_operator GC::SampleProfile.stat[:texts], :<, 1_000
      GC::SampleProfile.start(interval: 256)
      assert_named
    RUBY
  end

  # A profile holds what it has: a frame is 24 bytes, a node 8, a text 16, and a row 256 at most.
  def test_a_profile_holds_no_spare_room
    assert_lives(<<~RUBY)
      compile(40_000, 1_000)
      GC.start
      before = GC::SampleProfile.stat[:bytes_snapshots]
      raw = (profile = GC.sample_profile).raw
      held = GC::SampleProfile.stat[:bytes_snapshots] - before
      frames = raw[:frames].size / 5          # five numbers each, and two of a node
      assert_operator frames, :>, 20_000
      assert raw[:rows].any? { |row| row[C[:malloc]] }, "no row of malloc" if GC::SampleProfile.stat[:malloc] == :on
      full = frames * 24 + raw[:nodes].size / 2 * 8 + raw[:texts].size * 16 + raw[:rows].size * 256
      assert_operator held, :<, full * 1.1 + 100_000, [held, full, profile].inspect
    RUBY
  end

  # Snapshots of another thread, walks and forks while names go.
  def test_beside_snapshots_forks_and_walks
    assert_lives(<<~RUBY, settings: "interval=64,max-samples=4000,malloc=256k,output=none")
      texts = []
      asked = 0
      3.times do
        more = true
        thread = Thread.new do
          while more
            asked += 1
            texts |= GC.sample_profile.raw[:texts].grep(/made/)
          end
        rescue NoMemoryError    # profiles that Ruby has not freed yet leave no room for another
          GC.start
          retry
        end
        compile(#{LINES / 10}, 500)
        more = false
        thread.join
        Thread.new { GC.sample_profile(why: true) && nil }.join
        pid = fork do
          compile(30_000, 500)
          assert_named
          exit!(0)
        end
        assert_predicate Process.wait2(pid)[1], :success?
      end
      assert_equal [], texts.grep_v(%r{\\A/made/\\d+\\.rb\\z|\\A(block in )?(#<Module:0x\\h+>\\.)?m\\d+_\\d+\\z}).first(3)
      assert_named
      assert_whole(10 * asked)         # each has two attempts, and one that does not fit has a few failed allocations
    RUBY
  end

  # Fibers are made at more lines than there are numbers for; numbers of fibers that have ended are used again.
  def test_many_lines_make_fibers
    assert_lives(<<~'RUBY', settings: "interval=64k,malloc=off,output=none")
      def fiber_at(line) = eval("Fiber.new { Fiber.yield }.tap(&:resume)", binding, "/made/fibers.rb", line)
      kept = fiber_at(1)
      5_000.times do |i|
        fiber_at(i + 10)
        GC.start if i % 500 == 0
      end
      GC.start
      fresh = Array.new(3) { fiber_at(7) }
      made = GC::SampleProfile.memory[:alive][:fibers][:made]
      assert_equal 1, made.find { |place| place[:path] == "/made/fibers.rb" && place[:line] == 1 }&.fetch(:count), made.inspect
      assert_equal 3, made.find { |place| place[:path] == "/made/fibers.rb" && place[:line] == 7 }&.fetch(:count), made.inspect
      assert kept.alive? && fresh.all?(&:alive?)
    RUBY
  end
end
