# frozen_string_literal: false
require 'test/unit'

# interval=auto: it gets longer where samples cost too much and shorter where they cost little, and figures stay right.
class TestHeapSamplerAuto < Test::Unit::TestCase
  PRELUDE = <<~'RUBY'
    require "heap_sample"
    class Marked; end

    def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    def interval = GC::SampleProfile.stat[:interval]
    # Allocates fast, and keeps one object in ten, until the block is content.
    def busy(kept)
      until yield
        20_000.times { |i| kept << Marked.new if i % 10 == 0; "x" * 60 }
      end
    end
    # Allocates little; its GCs are ours.
    def calm(kept)
      deadline = cpu + 60
      until yield || cpu > deadline
        from = cpu
        i = 0
        i += 1 until i % 1000 == 0 && cpu > from + 0.1
        20_000.times { kept << Marked.new }
        GC.start
      end
    end
  RUBY

  def assert_auto(script, settings: "interval=auto,malloc=auto,output=none")
    assert_separately(["-W0", "--disable=gems", "--heap-sample=#{settings}"], PRELUDE + script, timeout: 300)
  end

  def test_it_moves_both_ways_and_figures_stay_right
    3.times do |seed|
      assert_auto(<<~'RUBY', settings: "interval=auto,malloc=off,output=none,seed=#{seed}")
        assert_equal [true, false], GC::SampleProfile.stat.values_at(:interval_auto, :malloc_interval_auto)
        kept = []
        first = interval
        busy(kept) { interval > first }
        long = interval
        calm(kept) { interval <= 64 * 1024 }
        short = interval
        assert_operator short, :<, first
        busy(kept) { interval > short * 2 }
        GC.start
        profile = GC.sample_profile.to_profile
        rows = profile.rows.select { |row| row.class_name == "Marked" }
        found = rows.sum { |row| row.inuse.space + row.young.space }
        spread = Math.sqrt(rows.sum { |row| row.inuse.variance + row.young.variance })
        assert_in_delta kept.size * 40, found, 5 * spread, [long, short, interval, kept.size].inspect
        assert_operator spread, :<, kept.size * 40     # it says something
        info = profile.info
        assert_equal [true, first, false], [info.interval_auto?, info.first_interval, info.malloc_interval_auto?]
        assert_operator info.interval_changes, :>=, 4
      RUBY
    end
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
      held = Array.new(3000) { |i| "y" * 5000 }
      rows = GC.sample_profile.to_profile.rows.select { |row| row.stack.any? { |frame| frame.label.include?("Array#initialize") } && row.malloc? }
      found = rows.sum { |row| row.inuse.space }
      spread = Math.sqrt(rows.sum { |row| row.inuse.variance })
      assert_in_delta 3000 * 5120, found, 5 * spread + 3000 * 24 * 8
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
      GC::SampleProfile.start(interval: "auto")
      calm([]) { interval < 524288 }
      pid = fork do
        before = interval
        calm([]) { interval < before }
        exit!(interval < before && stat.call[1] ? 0 : 1)
      end
      assert_predicate Process.wait2(pid)[1], :success?
      GC::SampleProfile.stop
      GC::SampleProfile.start
      assert_equal [524288, false], stat.call
    RUBY
  end
end
