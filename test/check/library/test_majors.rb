# frozen_string_literal: true

require_relative "../../testing"
require_relative "build"

class MajorsTest < Test
  include HeapSample

  def at(seconds) = Time.at(1_767_225_600 + seconds)

  HEAPS = [{"slot_size" => 40}, {"slot_size" => 80}].freeze
  # GC 3: 100 and 7 slots, 4,000 bytes of malloc; GC 5, half a second later: 3 slots fewer, and 2 more, malloc unknown;
  # GC 6: 500 bytes less than GC 3.
  NUMBERS = [3, 1_767_225_600_250, 1000, 8001, 200, 14, 2, 500, 50, 0, 5, 4, 1, 0, 0, 1000, 0, 0].freeze

  def info(numbers, heaps = HEAPS) = Meta.new("gc" => {"majors" => numbers}, "heaps" => heaps)

  test "major GCs have what they left alive" do
    majors = info(NUMBERS).majors
    assert_equal([[3, at(0.25r), 1000, [4000, 560], 4000], [5, at(0.75r), 1050, [3880, 720], nil], [6, at(0.75r), 1050, [3880, 720], 3500]], majors.map(&:to_a))
    assert_equal([4560, 4600, 4600], majors.map(&:slots))
  end

  test "an older file and nonsense have none" do
    [nil, "x", {}, [1], [nil] * 6, [-1] * 6, [1.5] * 6, [1 << 70] * 6, [1, 1, 1, 0, 1, 0], [1, 1, 1, 4, 0, 0]].each { |nonsense| assert_empty(info(nonsense).majors) }
    [nil, {}, [5], [{"slot_size" => "x"}]].each { |heaps| assert_empty(info(NUMBERS.first(7), heaps).majors) }
    assert_empty(Meta.new({}).majors)
    assert_equal([nil, nil, nil], Meta.new({"reason" => 5, "objects" => "x"}).then { |meta| [meta.reason, meta.objects, meta.began] })
  end

  test "a profile written and read again has them, its reason and its objects; a merged one has none" do
    build = Build.new("gc" => {"count" => 6, "majors" => NUMBERS}, "heaps" => HEAPS, "reason" => "periodic", "objects" => 2000)
    file = StringIO.new("".b)
    PprofWriter.new(build.profile).write(file)
    read = Profile.load(StringIO.new(file.string), name: "again").info
    assert_equal([build.profile.info.majors, "periodic", 2000], [read.majors, read.reason, read.objects])
    require "heapsample/tool"
    merged = HeapSample::Tool::Merge.new.add(build.profile).profile(files: 1).info
    assert_equal([[], nil, nil, nil], [merged.majors, merged.reason, merged.objects, merged.began])
  end
end
