# frozen_string_literal: true

require_relative "../../testing"
require_relative "build"

class GcTimesTest < Test
  include HeapSample

  def at(seconds) = Time.at(1_767_225_600 + seconds)

  # GCs 3, 4, 9 and 10, of which 4 and one of 5 to 10 were major; two others were before.
  TIMES = GCTimes.of([[3, 1_767_225_600_250, 2], [1, 750, 1], [5, 9000, 0], [1, 500, 1]])

  test "GCs have their times, as exact as the file has them" do
    assert_equal([[3, at(0.25r), 2], [4, at(1), 3], [9, at(10), 3], [10, at(10.5r), 4]], TIMES.map(&:to_a))
  end

  test "an allocation is after the GC that counted up to it, and before the next that is known" do
    assert_equal([at(0.25r), at(1)], TIMES.allocated_at(3))
    assert_equal([at(1), at(10)], TIMES.allocated_at(4))
    assert_equal([at(1), at(10)], TIMES.allocated_at(7))
    assert_equal([at(10.5r), nil], TIMES.allocated_at(10))
    assert_equal([at(10.5r), nil], TIMES.allocated_at(99))
    assert_equal([nil, at(0.25r)], TIMES.allocated_at(0))
  end

  test "a process without a GC has an empty list, an older file and nonsense have none" do
    assert_equal([0, [nil, nil]], [GCTimes.of([]).size, GCTimes.of([]).allocated_at(5)])
    [nil, "x", {}, [1], [[1, 2]], [[1, 2, nil]], [[1, -2, 3]], [[1, 2, 3.5]], [[1, 1 << 70, 3]]].each do |nonsense|
      assert_nil(GCTimes.of(nonsense))
      assert_nil(Meta.new("gc" => {"times" => nonsense}).gc_times)
    end
    assert_nil(Meta.new({}).gc_times)
  end

  test "meta data have them" do
    build = Build.new("gc" => {"count" => 5, "times" => [[4, 1_767_225_600_000, 0], [1, 1000, 1]]})
    assert_equal([[4, at(0), 0], [5, at(1), 1]], build.profile.info.gc_times.map(&:to_a))
  end

  FORCED = {"limit_ppm" => 10_000, "gcs" => 3, "gc_ns" => 150_000_000, "walks" => 1, "walk_ns" => 300_000_000, "longest_stop_ns" => 21_000_000,
            "of_ns" => 90_000_000_000, "last" => "over_budget"}.freeze

  test "forced work has its price" do
    forced = ForcedWork.of(FORCED)
    assert_equal([0.01, 3, 0.15, 1, 0.3, 0.021, 90.0, :over_budget], forced.to_a)
    assert_close(0.005, forced.share, 1e-9)
    assert_equal([true, false], [forced.any?, ForcedWork.of(FORCED.merge("gcs" => 0, "walks" => 0)).any?])
    assert_equal(0.0, ForcedWork.of(FORCED.merge("of_ns" => 0)).share)
    [nil, 1, [], {}, FORCED.merge("gc_ns" => -1), FORCED.merge("gcs" => "3"), FORCED.merge("last" => "x"), FORCED.merge("last" => nil),
     FORCED.merge("last" => [])].each { |nonsense| assert_nil(ForcedWork.of(nonsense)) }
  end

  def head(forced)
    build = Build.new("gc" => {"count" => 9, "minor" => 4, "major" => 5, "last_major_ns" => nil}, "forced" => forced)
    build.row(["a.rb:1 A#a"], "String", inuse: 20, at_gc: 1)
    HeapSample::Header.new(build.profile.info, Layout.new(width: 300)).lines.grep(/Forced/).first
  end

  test "the head of a report says what was forced, and why there was no GC" do
    assert_equal([nil, nil], [head(nil), head(FORCED.merge("gcs" => 0, "walks" => 0, "last" => "not_needed"))])
    assert_equal("Forced by the sampler: 3 major GCs and 1 heap walk took 0.5% of the run time, and stopped Ruby code for 21 ms at most; " \
                 "the share of diagnose= did not allow another major GC before the last periodic profile", head(FORCED).sub(/\.\z/, ""))
    assert(head(FORCED.merge("gcs" => 0, "walks" => 0, "last" => "refused")).start_with?("Forced by the sampler: the program has disabled GC"))
  end
end
