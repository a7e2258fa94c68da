# frozen_string_literal: false
require 'test/unit'

# interval=auto: it gets longer where samples cost too much and shorter where they cost little, and figures stay right.
class TestHeapSamplerAuto < Test::Unit::TestCase
  PRELUDE = <<~'RUBY'
    require "heapsample"
    SLOT = GC.stat_heap(0, :slot_size)         # of a small object: 40, or 48 in a debug build
    class Marked; end
    class Gone; end
    $gone = 0
    $spread = {marked: 0.0, gone: 0.0}

    def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    def interval = GC::SampleProfile.stat[:interval]
    # What the estimates' variance is in truth: of each object its size times the interval that it was drawn at, of which
    # that before these were made and that after them is the longer.
    def drawn(marked, gone)
      before = interval
      yield
      longer = [before, interval].max
      $spread[:marked] += marked * SLOT * longer
      $spread[:gone] += gone * SLOT * longer
      $gone += gone
    end
    # Allocates fast, and keeps one object in ten, until the block is content.
    def busy(kept)
      drawn(2000, 20_000) { 20_000.times { |i| kept << Marked.new if i % 10 == 0; Gone.new; "x" * 60 } } until yield
    end
    # Allocates little; its GCs are ours. Where it keeps much, each mark takes longer, and the interval rightly stays long.
    def calm(kept)
      deadline = cpu + 60
      until yield || cpu > deadline
        from = cpu
        i = 0
        i += 1 until i % 1000 == 0 && cpu > from + 0.1
        drawn(5000, 5000) { 5000.times { kept << Marked.new; Gone.new } }
        GC.start
      end
    end
  RUBY

  def assert_auto(script, settings: "interval=auto,malloc=auto,output=none")
    assert_separately(["-W0", "--disable=gems", "--heap-sample=#{settings}"], PRELUDE + script, timeout: 300)
  end

  def test_it_is_the_default
    assert_separately(["-W0", "--disable=gems", "--heap-sample=output=none"], <<~'RUBY')
      assert_equal [524288, true], GC::SampleProfile.stat.values_at(:first_interval, :interval_auto)
      malloc, auto = GC::SampleProfile.stat.values_at(:malloc, :malloc_interval_auto)
      assert_equal malloc == :on, auto
      GC::SampleProfile.stop
      GC::SampleProfile.start(interval: 4096)
      assert_equal [4096, false, malloc == :on], GC::SampleProfile.stat.values_at(:interval, :interval_auto, :malloc_interval_auto)
    RUBY
    assert_separately(["-W0", "--disable=gems", "--heap-sample=output=none,interval=512k,malloc=512k"], <<~'RUBY')
      assert_equal [524288, false, false], GC::SampleProfile.stat.values_at(:interval, :interval_auto, :malloc_interval_auto)
    RUBY
  end

  def test_it_moves_both_ways_and_figures_stay_right
    3.times do |seed|
      assert_auto(<<~'RUBY', settings: "interval=auto,malloc=off,output=none,seed=#{seed}")
        assert_equal [true, false], GC::SampleProfile.stat.values_at(:interval_auto, :malloc_interval_auto)
        kept = []
        2.times do
          calm(kept) { interval <= 64 * 1024 }
          short = interval
          assert_operator short, :<=, 64 * 1024
          busy(kept) { interval > short * 2 }
        end
        # Until a standard error is half of the truth.
        busy(kept) { [[kept.size, $spread[:marked]], [$gone, $spread[:gone]]].all? { |count, spread| 2 * Math.sqrt(spread) < count * SLOT } }
        GC.start
        profile = GC.sample_profile.to_profile
        # Few samples of the longest interval have most of the variance: what the profile says of it is too little, too, where
        # their number is. Six standard deviations of the truth.
        check = lambda do |truth, spread, rows, *of|
          found, variance = of.map { |one| rows.map(&one) }.flatten.then { |all| [all.sum(&:space), all.sum(&:variance)] }
          assert_in_delta truth, found, 6 * Math.sqrt(spread), [interval, kept.size].inspect
          assert_operator Math.sqrt(variance), :<, truth     # it says something
          assert_operator Math.sqrt(spread), :<, truth
        end
        marked, gone = %w[Marked Gone].map { |name| profile.rows.select { |row| row.class_name == name } }
        check[kept.size * SLOT, $spread[:marked], marked, :inuse, :young]
        check[kept.size * SLOT, $spread[:marked], marked, :alloc]
        check[$gone * SLOT, $spread[:gone], gone, :alloc]
        check[$gone * SLOT, $spread[:gone], gone, :freed, :young]
        info = profile.info
        assert_equal [true, 524288, false], [info.interval_auto?, info.first_interval, info.malloc_interval_auto?]
        assert_operator info.interval_changes, :>=, 4
        assert_equal 0, info.thinnings
      RUBY
    end
  end

  def test_it_gets_shorter_without_a_gc
    assert_auto(<<~'RUBY')
      GC.disable
      gcs = GC.count
      deadline = cpu + 60
      until interval <= 64 * 1024 || cpu > deadline
        from = cpu
        i = 0
        i += 1 until i % 1000 == 0 && cpu > from + 0.1
        20_000.times { Marked.new }
      end
      assert_operator interval, :<=, 64 * 1024
      assert_equal gcs, GC.count
      # What is allocated from here on is drawn at it, in the lists of free slots that were installed before too.
      drawn_at = interval
      held = Array.new(100_000) { Gone.new }
      rows = GC.sample_profile.to_profile.rows.select { |row| row.class_name == "Gone" }
      assert_operator rows.sum { |row| row.young.samples }, :>, 20
      assert_in_delta held.size * SLOT, rows.sum { |row| row.young.space }, 6 * Math.sqrt(held.size * SLOT * [drawn_at, interval].max)
    RUBY
  end

  def test_malloc_moves_both_ways
    omit "malloc is not sampled here" if GC::SampleProfile.stat[:malloc_missing].to_s.include?("without jemalloc")
    assert_auto(<<~'RUBY')
      malloc = -> { GC::SampleProfile.stat[:malloc_interval] }
      calm([]) { malloc.call <= 64 * 1024 }
      assert_operator malloc.call, :<=, 64 * 1024
      kept = nil
      deadline = cpu + 60
      kept = "x" * 100_000 until malloc.call >= 256 * 1024 || cpu > deadline
      assert_operator malloc.call, :>=, 256 * 1024
      # As many bytes as are kept, whatever the interval was when they came.
      drawn_at = malloc.call
      held = Array.new(3000) { |i| "y" * 5000 }
      rows = GC.sample_profile.to_profile.rows.select { |row| row.stack.any? { |frame| frame.label.include?("Array#initialize") } && row.malloc? }
      found = rows.sum { |row| row.inuse.space }
      spread = Math.sqrt(3000.0 * 5120 * [drawn_at, malloc.call].max)
      assert_in_delta 3000 * 5120, found, 6 * spread + 3000 * 24 * 8
    RUBY
  end

  def test_a_fixed_interval_stays
    assert_auto(<<~'RUBY', settings: "interval=64k,malloc=off,output=none")
      kept = []
      rounds = 0
      busy(kept) { (rounds += 1) > 40 }
      calm(kept) { (rounds += 1) > 50 }
      assert_equal [65536, false], GC::SampleProfile.stat.values_at(:interval, :interval_auto)
    RUBY
  end

  def test_from_ruby_and_in_a_child
    assert_separately(["-W0", "--disable=gems"], PRELUDE + <<~'RUBY', timeout: 120)
      stat = -> { GC::SampleProfile.stat.values_at(:interval, :interval_auto) }
      GC::SampleProfile.start(interval: "auto")
      assert_equal [524288, true], stat.call
      assert_equal false, GC::SampleProfile.start(interval: 4096)
      assert_equal [4096, false], stat.call
      GC::SampleProfile.start(interval: "auto")
      assert_equal [524288, true], stat.call
      GC::SampleProfile.stop
      assert_equal [nil, false], stat.call
      # A child's CPU time begins anew.
      GC::SampleProfile.start(interval: "auto")
      nil until cpu > 1
      assert_equal 524288, interval
      pid = fork do
        calm([]) { interval < 524288 }
        exit!(interval < 524288 && stat.call[1] ? 0 : 1)
      end
      assert_predicate Process.wait2(pid)[1], :success?
      GC::SampleProfile.stop
      GC::SampleProfile.start
      assert_equal [524288, true], stat.call
    RUBY
  end
end
