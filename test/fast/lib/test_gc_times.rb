# frozen_string_literal: true

require "build"

include HeapSample

def at(seconds) = Time.at(1_767_225_600 + seconds)

# GCs 3, 4, 9 and 10, of which 4 and one of 5 to 10 were major; two others were before.
TIMES = GCTimes.of([[3, 1_767_225_600_250, 2], [1, 750, 1], [5, 9000, 0], [1, 500, 1]])

test "GCs have their times, as exact as the file has them" do
  equal([[3, at(0.25r), 2], [4, at(1), 3], [9, at(10), 3], [10, at(10.5r), 4]], TIMES.map(&:to_a))
end

test "a birth is after the GC that counted up to it, and before the next that is known" do
  equal([at(0.25r), at(1)], TIMES.born(3))
  equal([at(1), at(10)], TIMES.born(4))
  equal([at(1), at(10)], TIMES.born(7))
  equal([at(10.5r), nil], TIMES.born(10))
  equal([at(10.5r), nil], TIMES.born(99))
  equal([nil, at(0.25r)], TIMES.born(0))
end

test "majors are counted up to a time" do
  equal([nil, 2, 2, 3, 3, 4], [0, 0.25r, 0.5r, 1, 9, 60].map { |seconds| TIMES.majors_at(at(seconds)) })
end

test "a process without a GC has an empty list, an older file and nonsense have none" do
  equal([0, [nil, nil]], [GCTimes.of([]).size, GCTimes.of([]).born(5)])
  [nil, "x", {}, [1], [[1, 2]], [[1, 2, nil]], [[1, -2, 3]], [[1, 2, 3.5]], [[1, 1 << 70, 3]]].each do |nonsense|
    equal(nil, GCTimes.of(nonsense))
    equal(nil, Meta.new("gc" => {"times" => nonsense}).gc_times)
  end
  equal(nil, Meta.new({}).gc_times)
end

test "meta data have them" do
  build = Build.new("gc" => {"count" => 5, "times" => [[4, 1_767_225_600_000, 0], [1, 1000, 1]]})
  equal([[4, at(0), 0], [5, at(1), 1]], build.profile.info.gc_times.map(&:to_a))
end

ASKED = {"limit_ppm" => 10_000, "count" => 3, "ns" => 450_000_000, "of_ns" => 90_000_000_000, "last" => "over_budget"}.freeze

test "majors that were asked for have their price" do
  asked = AskedGCs.of(ASKED)
  equal([0.01, 3, 0.45, 90.0, :over_budget], asked.to_a)
  close(0.005, asked.share, 1e-9)
  equal(0.0, AskedGCs.of(ASKED.merge("of_ns" => 0)).share)
  [nil, 1, [], {}, ASKED.merge("ns" => -1), ASKED.merge("count" => "3"), ASKED.merge("last" => "x"), ASKED.merge("last" => nil),
   ASKED.merge("last" => [])].each { |nonsense| equal(nil, AskedGCs.of(nonsense)) }
end

def head(asked)
  build = Build.new("gc" => {"count" => 9, "minor" => 4, "major" => 5, "last_major_ns" => nil, "asked" => asked})
  build.row(["a.rb:1 A#a"], "String", inuse: 20, birth: 1)
  HeapSample::Header.new(build.profile.info, Layout.new(width: 300)).lines.grep(/ GCs/).first
end

test "the head of a report tells of them, and why there was none" do
  equal("9 GCs: 4 minor, 5 major (none yet)", head(nil).sub(/\.\z/, ""))
  assert(head(ASKED).include?("5 major (none yet); 3 of them begun for periodic profiles, in 0.5% of the time; before the last " \
                              "periodic profile another would have taken more than gc= allows"), head(ASKED))
  assert(head(ASKED.merge("last" => "ended", "ns" => 45_000_000)).end_with?("3 of them begun for periodic profiles, in 0.05% of the time"))
  equal(head(nil), head(ASKED.merge("count" => 0, "last" => "not_needed")))
end
