# frozen_string_literal: true

# A leak of one sample each GC of 1000, what the boot left, and the present.

require "json"
require "pp"
require_relative "../../testing"
require_relative "builds"

class GenerationsTest < Test
  include Builds
  include HeapSample

  def aged_build
    build = malloc_build("gc" => {"count" => 1000})
    1000.times { |gc| build.row(["/srv/app/leak.rb:7 Leak#x", MAIN], "String", inuse: 1, at_gc: gc) }
    build.row(["/srv/app/boot.rb:1 <main>"], "Hash", type: "T_HASH", inuse: 300, at_gc: 5)
    build.row(["/srv/app/work.rb:1 W#w", MAIN], "Array", type: "T_ARRAY", inuse: 40, young: 3, at_gc: 999)
  end

  test "a few ages one by one, many in ranges that double" do
    assert_equal([3..3, 4..4, 5..5], Generations.ranges([3, 5]))
    assert_equal([0..0, 1..1, 2..3, 4..7, 8..15, 16..20], Generations.ranges([0, 20, 7]))
    assert_equal([100..127, 128..255, 256..300], Generations.ranges([300, 100]))
    assert_equal([], Generations.ranges([]))
    random = Random.new(1)
    200.times do
      ages = Array.new(random.rand(1..9)) { random.rand(2000) }
      ranges = Generations.ranges(ages)
      assert_equal((ages.min..ages.max).to_a, ranges.flat_map(&:to_a))
      assert(ranges.size <= Generations::SINGLE)
    end
  end

  test "the ages add up to all slots with a GC of allocation, and the rest is shown" do
    generations = aged_build.profile.generations
    assert_equal(1380, generations.total.samples)
    assert_equal(1380, generations.sum { |generation| generation.estimate.samples })
    assert_close(1, generations.sum(&:share))
    assert_equal([137, 3], [generations.ageless.samples, generations.young.samples])
    text = generations.to_s
    assert(text.include?("The age of 972.2 MiB") && text.match?(/does not record when\s+malloc\s+blocks\s+were\s+allocated/), text)
    assert(text.include?("Young (allocated since the last GC, in no generation): 1.5 MiB"), text)
  end

  test "by age, word for word" do
    assert_equal(<<~TEXT, sample_build.profile.generations.text(root: "/srv/app", width: 110).to_s)
      Live memory by age, in GCs (this is GC 100): 54.0 MiB ±10.2 MiB in 1,346,819 objects, 108 samples
           age     bytes   95% interval  samples  share     per GC                    the largest, by line
            ~1   3.5 MiB  1.5 – 7.0 MiB        7   6.5%    3.5 MiB  █▏                …/base.rb:100 Model::Base.new
         2 – 3       0 B              -        0   0.0%        0 B                    -
         4 – 7       0 B              -        0   0.0%        0 B                    -
       ~8 – 15   2.0 MiB  0.6 – 5.0 MiB        4   3.7%  256.0 KiB  ▋                 models/x.rb:12 Foo#bar
       16 – 31       0 B              -        0   0.0%        0 B                    -
       32 – 63       0 B              -        0   0.0%        0 B                    -
      64 – 100  48.5 MiB       ±9.8 MiB       97  89.8%    1.3 MiB  ████████████████  models/x.rb:12 Foo#bar
      Half of it (by bytes) has survived 80 GCs or more.

      Age 64 – 100: 48.5 MiB ±9.8 MiB in 1,271,447 objects, 97 samples
             bytes   95% interval    objects  samples  share    age  class   line
       1  48.0 MiB       ±9.7 MiB  1,258,339       96  99.0%   80.0  String  models/x.rb:12 Foo#bar
      ~2   0.5 MiB  0.0 – 2.6 MiB     13,108        1   1.0%  100.0  Object  (no stack)
      ~ fewer than 10 samples: weak

      Young (allocated since the last GC, in no generation): 3.0 MiB (1.2 – 6.4 MiB) in 19,664 objects, 6 samples
    TEXT
  end

  test "what grows evenly has as much in each GC" do
    evenly = aged_build.profile.filter(path: "leak.rb").generations
    evenly.select { |generation| generation.ages.begin >= 64 }.each do |generation|
      assert_close(512.0 * 1024, generation.bytes_per_gc, 1e-2)
      low, high = generation.bytes_per_gc_interval
      assert(low < generation.bytes_per_gc && generation.bytes_per_gc < high)
    end
    assert_equal(500, evenly.median)
  end

  test "the lines behind the generations that matter" do
    text = aged_build.profile.generations.text(root: "/srv/app").to_s
    assert(text.match?(/^Age 512 – 1,000: 4\d\d\.\d MiB .*\n.*\n1 .*leak\.rb:7 Leak#x\n2 .*boot\.rb:1 <main>$/), text)
    refute(text.include?("Age 2 – 3"), text)
    line = aged_build.profile.generations.find { |generation| generation.ages.cover?(500) }.top.first
    assert_equal(["/srv/app/leak.rb", 256], [line.key.path, line.samples])
  end

  test "one range of ages, with its lines" do
    generations = aged_build.profile.generations(age: 100..299, by: :class)
    assert_equal([200, 100, 299], [generations.total.samples, generations.first.ages.begin, generations.to_a.last.ages.end])
    assert(generations.to_s.match?(/^1 +100\.0 MiB .* String$/), generations.to_s)
    refute(generations.to_s.include?("No age is known"), "what has no age is not of that age")
    assert_error(ArgumentError, /age must be a number/) { aged_build.profile.generations(age: "old") }
    assert_error(ArgumentError, /cannot group by/) { aged_build.profile.generations(by: :age) }
  end

  test "of a part of the profile" do
    generations = aged_build.profile.filter(class: "Hash").generations(age: 100..)
    assert_equal(300, generations.total.samples)
    assert(generations.to_s.start_with?("A part of the profile, filtered: class Hash\n"))
  end

  test "nothing, and nothing known" do
    assert(Build.new.profile.generations.to_s.end_with?("No live memory has a known age.\n"))
    without = Profile.from_raw(sample_build.raw.merge(meta: {})).generations
    assert(without.to_s.match?(/this profile does not record when memory\s+was allocated/), without.to_s)
    assert_equal([0, nil], [without.count, without.median])
    JSON.generate(without.to_h)
  end

  test "ages that cannot be do not take for ever" do
    build = Build.new("gc" => {"count" => 1 << 60})
    build.row(["/srv/a.rb:1 A#a"], "String", inuse: 3, at_gc: 0).row(["/srv/a.rb:1 A#a"], "String", inuse: 3, at_gc: 1 << 62)
    generations = build.profile.generations
    assert_equal(6, generations.total.samples)
    assert(generations.count < 70)
    JSON.generate(generations.to_h) + generations.to_s
  end

  test "as data, in one line, and for pp" do
    generations = aged_build.profile.generations
    data = JSON.parse(JSON.generate(generations.to_h), symbolize_names: true)
    last = data[:generations].last
    assert_equal([[512, 1000], 829, "/srv/app/leak.rb"], [last[:age_gcs], last[:samples], last[:rows][0][:path]])
    assert_equal(generations.to_a.last.estimate.space_interval, last[:bytes_interval])
    assert_equal(1, generations.inspect.lines.size)
    assert(generations.pretty_inspect.lines.size > 5)
  end
end
