# frozen_string_literal: true

require "json"
require "pp"
require_relative "../../testing"
require_relative "builds"

class RetainedTest < Test
  include Builds
  include HeapSample

  LEAK = ["/srv/app/leak.rb:7 Leak#x", MAIN].freeze
  QUEUE = ["/srv/app/queue.rb:1 Queue#push", MAIN].freeze

  # The profile at GC 100, 110 or 120.
  def at(number, **meta)
    Build.new(**{"gc" => {"count" => 100 + 10 * number}, "taken_ns" => Build::STARTED + (10 + 10 * number) * Build::MINUTE}, **meta)
  end

  def leaking(**meta)
    first = at(0).row(LEAK, "String", inuse: 20, at_gc: 95).row(QUEUE, "Job", inuse: 30, at_gc: 99)
    second = at(1, **meta).row(LEAK, "String", inuse: 20, at_gc: 95).row(LEAK, "String", inuse: 22, at_gc: 105)
                          .row(QUEUE, "Job", inuse: 30, at_gc: 109)
    third = at(2, **meta).row(LEAK, "String", inuse: 20, at_gc: 95).row(LEAK, "String", inuse: 21, at_gc: 105)
                         .row(LEAK, "String", inuse: 20, at_gc: 115).row(QUEUE, "Job", inuse: 29, at_gc: 119)
    [first, second, third].map(&:profile)
  end

  def retained(profiles, **options) = Retained.new(*profiles, **options)

  test "what came and stayed, word for word" do
    assert_equal(<<~TEXT, retained(leaking).text(root: "/srv/app").to_s)
      Retained: allocated after the first profile, live in the second, and still live in the third: 10.5 MiB ±4.6 MiB in
      275,262 objects, 21 samples
      10 min 0 s, 10 GCs from the first to the second; 10 min 0 s, 10 GCs from the second to the third
      Of 26.0 MiB ±7.2 MiB allocated in between, 40.4% (28.2 – 53.9%) is still live.

            bytes  95% interval  allocated  still live  95% interval  samples  class   line
      1  10.5 MiB      ±4.6 MiB   11.0 MiB       95.5%  78.2 – 99.2%       21  String  leak.rb:7 Leak#x

      The largest: leak.rb:7 `Leak#x` retains 10.5 MiB ±4.6 MiB in 275,262 objects, 21 samples, 95.5% (78.2 – 99.2%) of what
      was allocated there.
    TEXT
  end

  # Objects come and go at random; each is of a line, allocated at some GC, and lives for some.  A mark
  # at the beginning of each GC finds what is live; what was allocated in the GC of the snapshot is young.
  def lives(random)
    Array.new(400) do
      allocated = random.rand(90..121)
      {line: random.rand(4) + 1, allocated: allocated, freed: allocated + (random.rand(3).zero? ? 1000 : random.rand(1..15))}
    end
  end

  test "every object counted: what is said is what is so" do
    random = Random.new(2)
    25.times do
      objects = lives(random)
      alive = ->(object, gc) { object[:allocated] < gc && object[:freed] >= gc }
      profiles = [100, 110, 120].each_with_index.map do |gc, number|
        build = at(number, interval: 1)
        objects.select { |object| object[:allocated] <= gc && object[:freed] >= gc }.group_by { |object| [object[:line], object[:allocated]] }.each do |(line, at_gc), some|
          build.row(["/srv/a.rb:#{line} A#a"], "String", at_gc: at_gc, **(at_gc == gc ? {young: some.size} : {inuse: some.size}))
        end
        build.profile
      end
      expected = objects.select { |object| !alive[object, 100] && alive[object, 110] && alive[object, 120] }.group_by { |object| object[:line] }
      found = retained(profiles).map { |row| [row.key.line, row.samples] }
      assert_equal(expected.transform_values(&:size).sort, found.sort)
      retained(profiles).each { |row| assert_close(expected[row.key.line].size * 40, row.value, 1e-6) }
    end
  end

  test "a steady line retains nothing, be it 100 MB and replaced all the time" do
    profiles = [0, 1, 2].map { |n| at(n).row(LEAK, "String", inuse: 200, at_gc: 3).row(QUEUE, "Job", inuse: 200, at_gc: 99 + 10 * n).profile }
    text = retained(profiles).to_s
    assert(text.end_with?("No memory allocated after the first profile is known to be retained.\n"), text)
  end

  test "allocated in the GC of the first: what was in use there is taken off; in that of the second: no more than was in use" do
    profiles = [at(0).row(LEAK, "String", inuse: 10, young: 5, at_gc: 100), at(1).row(LEAK, "String", inuse: 15, at_gc: 100),
                at(2).row(LEAK, "String", inuse: 14, at_gc: 100)].map(&:profile)
    assert_equal([4, 5], retained(profiles).first.then { |row| [row.samples, row.came.samples] })
    profiles = [at(0), at(1).row(LEAK, "String", inuse: 6, young: 9, at_gc: 110), at(2).row(LEAK, "String", inuse: 15, at_gc: 110)].map(&:profile)
    assert_equal([6, 6], retained(profiles).first.then { |row| [row.samples, row.came.samples] })
    profiles = [at(0), at(1).row(LEAK, "String", young: 9, at_gc: 110), at(2).row(LEAK, "String", inuse: 9, at_gc: 110)].map(&:profile)
    assert_equal(0, retained(profiles).count)
  end

  # A ring of blocks that are all replaced, and a line that retains each: no GC in between, so that their GC counts are equal.
  test "malloc between two GCs: what was replaced is not retained, and what stayed is a bound" do
    gc = at(0).meta["gc"]
    held = lambda do |number, ring, kept|
      build = at(number)
      build.meta["gc"] = gc
      build.blocks(["#{RUBY} ring", PARSE], "ruby", 20_000, at_gc: gc["count"], inuse: 30, alloc: ring)
           .blocks(["#{RUBY} keep", "/srv/app/keep.rb:1 Keep#all"], "ruby", 20_000, at_gc: gc["count"], inuse: kept, alloc: kept).profile
    end
    found = retained([held[0, 30, 10], held[1, 60, 40], held[2, 90, 70]])
    assert_equal([["/srv/app/keep.rb", 30, true]], found.map { |row| [row.key.path, row.samples, row.bound?] })
    assert(found.to_s.tr("\n", " ").include?("so figures are lower bounds") && found.to_s.include?("retains at least"), found.to_s)
  end

  test "malloc that was not sampled for all three is left out" do
    malloc = ->(number) { at(number).malloc([RUBY, PARSE], "ruby", 20_000, inuse: 10 * number).row(LEAK, "String", inuse: 10 * number, at_gc: 104).profile }
    both = retained([at(0).profile, malloc[1], malloc[2]])
    assert_equal(["/srv/app/leak.rb"], both.map { |row| row.key.path })
    assert(both.to_s.include?("Malloc memory is left out"), both.to_s)
    other = at(2, "malloc" => {"state" => "on", "interval" => 1 << 20}).malloc([RUBY, PARSE], "ruby", 20_000, inuse: 20).profile
    changed = retained([malloc[0], malloc[1], other])
    assert_equal([0, true], [changed.count, changed.to_s.include?("Malloc memory is left out")])
  end

  test "of several processes, totals, and what is more than noise" do
    one = leaking[0]
    others = [at(1, "process_start" => "b").row(LEAK, "String", inuse: 61, at_gc: 3).row(QUEUE, "Job", inuse: 36, at_gc: 3),
              at(2, "process_start" => "c").row(LEAK, "String", inuse: 70, at_gc: 3).row(QUEUE, "Job", inuse: 40, at_gc: 3)].map(&:profile)
    found = retained([one, *others])
    assert_equal(["/srv/app/leak.rb"], found.map { |row| row.key.path })
    low, high = found.first.interval
    assert(low > 0 && low < 20.5 * 1024**2 && high > 20.5 * 1024**2, "#{low} #{high}")
    text = found.to_s
    assert(text.include?("not of one session of one process") && !text.include?("is still live"), text)
    assert_equal([false, "/srv/app/leak.rb"], found.to_h.then { |data| [data[:one_process], data[:rows][0][:path]] })
  end

  test "by anything, of one kind, of a part" do
    assert_equal(%w[String], retained(leaking, by: :class).map(&:key))
    Groups::BY.each { |by| retained(leaking, by: by).to_s }
    assert_equal(0, retained(leaking, kind: :malloc).count)
    part = leaking.map { |profile| profile.filter(class: "Job") }
    assert(retained(part).to_s.include?("filtered: class Job"))
  end

  test "the wrong order, other things and unlike parts are ArgumentErrors" do
    first, second, third = leaking
    assert_error(ArgumentError, /taken after the other/) { retained([second, first, third]) }
    assert_error(ArgumentError, /have different filters/) { retained([first, second, third.filter(class: "Job")]) }
    assert_error(ArgumentError, /Integer is not a profile/) { Retained.new(3, first, second) }
    assert_error(ArgumentError, /NilClass is not a profile/) { Retained.new(first, second, nil) }
    assert_error(ArgumentError, /cannot group by/) { retained(leaking, by: :x) }
  end

  test "no GC in between; nothing at all" do
    text = retained([leaking[0]] * 3).to_s
    assert(text.include?("No GC ran between two of the profiles"), text)
    JSON.generate(retained([Build.new.profile] * 3).to_h)
  end

  test "as data, in one line, and for pp, with hostile names" do
    data = JSON.parse(JSON.generate(retained(leaking).to_h), symbolize_names: true)
    row = data[:rows][0]
    assert_equal([21, 22, "String"], [row[:samples], row[:came][:samples], row[:classes][0][:class]])
    assert_close(21 / 22.0, row[:still_live_share], 1e-3)
    assert_equal(1, retained(leaking).inspect.lines.size)
    assert(retained(leaking).pretty_inspect.lines.size.between?(3, 6))
    bad = [at(0), at(1).row(["/\e[1m.rb:1 A\e#a"], "K\e[2J", inuse: 30, at_gc: 105), at(2).row(["/\e[1m.rb:1 A\e#a"], "K\e[2J", inuse: 30, at_gc: 105)]
    [40, 120].each { |width| refute(retained(bad.map(&:profile)).text(width: width).to_s.include?("\e")) }
  end
end
