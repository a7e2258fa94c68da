# frozen_string_literal: true

require "json"
require "pp"
require_relative "../../testing"
require_relative "builds"
require_relative "pprof_encoder"

class GrowthTest < Test
  include Builds
  include HeapSample

  LATER = {"gc" => {"count" => 110, "minor" => 85, "major" => 25}, "taken_ns" => Build::STARTED + 20 * Build::MINUTE}.freeze
  UNIT = 512 * 1024

  def build(**meta) = Build.new(**meta)

  def one(samples, at_gc: 10, stack: ["a.rb:1 A#a"], **meta)
    build(**meta).row(stack, "String", inuse: samples, at_gc: at_gc).profile
  end

  test "a profile less itself is nothing" do
    profile = sample_build.profile
    growth = profile - sample_build.profile
    assert_close(0, growth.total.space)
    assert_equal([], growth.rows.reject { |row| row.row.class_name == "Ticket" })
  end

  test "the report says what is not in it, for no GC has looked at it" do
    later = build(**LATER).row(["a.rb:1 A#a"], "String", inuse: 20, young: 30, at_gc: 105).profile
    text = (later - one(10)).report.text(width: 200).to_s
    assert(text.match?(/^Not in the tables: 15\.0 MiB .* allocated since the last GC\. Some of it may be retained; GC\.sample_profile\(full_gc: true\) shows it\.$/), text)
    refute((one(20, **LATER) - one(10)).report.text(width: 200).to_s.include?("Not in the tables"))
  end

  test "what was allocated since is gained, with its own variance" do
    growth = (sample_build(**LATER).row(["y.rb:1 Y#y"], "String", inuse: 30, at_gc: 105).profile - sample_build.profile)
    row = growth.rows.find { |candidate| candidate.stack.first.path == "y.rb" }
    assert_equal([30, 0], [row.gained.samples, row.lost.samples])
    assert_close(30 * UNIT, row.space, 1e-3)
  end

  test "what was freed since is lost, with the variance of the freed objects only" do
    growth = one(20, **LATER) - one(100)
    row = growth.rows.first
    assert_equal([0, 80], [row.gained.samples, row.lost.samples])
    assert_close(one(80).rows[0].inuse.variance, row.lost.variance)
    assert_close(-80 * UNIT, growth.total.space, 1e-3)
  end

  test "what survived adds nothing to the error" do
    low, high = (one(10_001, **LATER) - one(10_000)).total.space_interval
    assert(high - low > 200 * UNIT, "an impossible row must not be narrow")
    low, high = (one(9_999, **LATER) - one(10_000)).total.space_interval
    assert(high - low < 10 * UNIT, "#{low} to #{high}")
  end

  test "what was young before counts as allocated since" do
    earlier = build.row(["a.rb:1 A#a"], "String", young: 30, at_gc: 100).profile
    growth = one(25, at_gc: 100, **LATER) - earlier
    assert_equal(25, growth.total.gained.samples)
    assert_equal(0, growth.total.lost.samples)
  end

  test "a row that was half young keeps both sides, and the larger error" do
    earlier = build.row(["a.rb:1 A#a"], "String", inuse: 10, young: 10, at_gc: 100).profile
    row = (one(12, at_gc: 100, **LATER) - earlier).rows.first
    assert_equal([12, 10], [row.gained.samples, row.lost.samples])
  end

  test "GCs of allocation and sizes keep rows apart, and threads do not" do
    earlier = build.row(["a.rb:1 A#a"], "String", inuse: 10, at_gc: 5).profile
    moved = lambda do |**differs|
      total = (build(**LATER).row(["a.rb:1 A#a"], "String", inuse: 10, at_gc: 5, **differs).profile - earlier).total
      [total.gained.samples, total.lost.samples]
    end
    assert_equal([[10, 10], [10, 10], [0, 0]], [moved.(at_gc: 6), moved.(slot: 80), moved.(thread: 2)])
  end

  test "across processes nothing is matched and variances add" do
    growth = one(100, **LATER, process_start: "other") - one(100)
    refute(growth.matched?)
    low, high = growth.total.space_interval
    assert_close(2 * 1.96 * Math.sqrt(200) * UNIT, high - low, 0.05)
    assert(growth.report.to_s.include?("The profiles are not of one session of one process"))
  end

  test "so too where the interval changed, and the report says it" do
    settings = {"interval" => UNIT, "first_interval" => UNIT / 2, "interval_changes" => 1}
    growth = one(150, **LATER, settings: settings) - one(100)
    assert(growth.same_run? && !growth.matched?)
    assert(growth.report.to_s.include?("The sampling interval changed in between"))
    assert(growth.report.to_s.include?("later"))
  end

  test "an interval that moved matches rows all the same, samples that were thinned do not" do
    settings = ->(changes, thinnings) { {"interval" => UNIT / changes, "first_interval" => UNIT, "interval_changes" => changes, "thinnings" => thinnings} }
    earlier = one(100, settings: settings[1, 2])
    growth = one(90, **LATER, settings: settings[8, 2]) - earlier
    assert(growth.matched?)
    assert_equal([0, 10], [growth.total.gained.samples, growth.total.lost.samples])
    refute((one(90, **LATER, settings: settings[1, 3]) - earlier).matched?)
  end

  test "another session of the process is another run" do
    refute((one(1, **LATER, session: 2) - one(1)).same_run?)
  end

  test "a saved profile is matched with one from memory" do
    growth = sample_build(**LATER).row(["y.rb:1 Y#y"], "String", inuse: 30, at_gc: 105).profile - PprofEncoder.reloaded(sample_build)
    assert(growth.matched?)
    assert_equal(["String"], growth.groups(:class).select { |group| group.space.abs > UNIT }.map(&:key))
  end

  test "the wrong order and things that are no profile are ArgumentErrors" do
    assert_error(ArgumentError, /taken after the other; swap them \(taken at 00:20:00 and 00:10:00 UTC\)/) { one(1) - one(1, **LATER) }
    assert_error(ArgumentError, /Integer is not a profile/) { one(1) - 3 }
  end

  test "the report of growth, word for word" do
    later = sample_build(**LATER).row(["/srv/app/leak.rb:7 Leak#now", "/srv/app/main.rb:3 <main>"], "String", inuse: 30, at_gc: 105)
    earlier = sample_build.row(["/srv/app/cache.rb:9 Cache#put"], "Hash", type: "T_HASH", slot: 160, inuse: 8, at_gc: 70)
    assert_equal(<<~TEXT, (later.profile - earlier.profile).report.text(root: "/srv/app").to_s)
      Growth of live memory over 10 min 0 s, 10 GCs: +11.0 MiB (+3.9 – +18.6 MiB) in 367,013 objects
      Not in the tables: 3.0 MiB (1.2 – 6.4 MiB) in 19,664 objects, 6 samples allocated since the last GC. Some of it may be
      retained; GC.sample_profile(full_gc: true) shows it.

      Grown, by line:
             bytes      95% interval  objects    gained  lost  samples  class   line
      1  +15.0 MiB  +9.9 – +21.3 MiB  393,231  15.0 MiB   0 B       30  String  leak.rb:7 Leak#now

      Shrunk, by line:
             bytes     95% interval  objects  gained     lost  samples  class  line
      ~1  -4.0 MiB  -7.7 – -1.2 MiB  -26,218     0 B  4.0 MiB        8  Hash   cache.rb:9 Cache#put
      ~ fewer than 10 samples: weak

      Within noise (sampling alone explains it), by line:
           bytes     95% interval  objects   gained     lost  samples  class   line
      1  0.0 MiB  -4.1 – +4.1 MiB        0  3.5 MiB  3.5 MiB       14  Ticket  model-7.1.2/lib/base.rb:100 Model::Base.new

      The largest growth: leak.rb:7 `Leak#now` +15.0 MiB (+9.9 – +21.3 MiB) in 393,231 objects of heap slots only, mostly
      `String`.
    TEXT
  end

  test "nothing significant is said to be so" do
    report = (one(2, at_gc: 105, **LATER) - one(3)).report.to_s
    assert(report.end_with?("Nothing grew by more than sampling noise.\n"), report)
  end

  # Samples of +mean+ expected, as sampling draws them.
  def drawn(random, mean)
    limit = Math.exp(-mean)
    product = random.rand
    count = 0
    count += 1 while (product *= random.rand) > limit
    count + 1
  end

  test "of 300 steady lines in two processes none is called growth, beside one that grows" do
    random = Random.new(3)
    earlier, later = [{}, {**LATER, process_start: "other"}].map do |meta|
      (1..300).inject(build(**meta)) { |profile, n| profile.row(["a.rb:#{n} A#a"], "String", inuse: drawn(random, 40), at_gc: 3) }
    end
    earlier.row(["leak.rb:7 L#l"], "String", inuse: 20, at_gc: 3)
    later.row(["leak.rb:7 L#l"], "String", inuse: 90, at_gc: 3)
    growth = later.profile - earlier.profile
    groups = growth.groups(:line)
    alone = groups.count(&:significant?)
    assert(alone > 5, "tested one by one, #{alone} seem to change")
    changed = growth.changes(groups).reject { |_, change| change == :noise }
    assert_equal({"leak.rb" => :grown}, changed.transform_keys { |group| group.key.path })
    text = growth.report(top: 3).to_s
    assert(text.include?("Grown, by line:") && !text.include?("Shrunk"), text)
    assert(text.match?(/^Within noise .*:\n(.*\n){4}and 297 more$/), text)
  end

  test "a steady 100 MB whose objects are replaced all the time is within noise" do
    random = Random.new(5)
    wrong = 200.times.count do
      earlier = build.row(["a.rb:1 A#a"], "String", inuse: drawn(random, 200), at_gc: 99)
      later = build(**LATER).row(["a.rb:1 A#a"], "String", inuse: drawn(random, 200), at_gc: 109)
      !(later.profile - earlier.profile).report.to_s.end_with?("Nothing grew by more than sampling noise.\n")
    end
    assert(wrong <= 12, "#{wrong} of 200 said to grow; 2.5% are allowed")
  end

  test "growth as data, in one line, and for pp" do
    growth = sample_build(**LATER).row(["y.rb:1 Y#y"], "String", inuse: 30, at_gc: 105).profile - sample_build.profile
    data = JSON.parse(JSON.generate(growth.report.to_h), symbolize_names: true)
    row = data[:rows][0]
    assert_equal(["grown", "y.rb", 1, 30], [row[:change], row[:path], row[:line], row[:samples]])
    assert(row.keys.none? { |name| name.to_s.include?("per_hour") }, row.keys.inspect)
    assert_equal(growth.groups(:line).max_by(&:space).space_interval, row[:bytes_interval])
    assert_equal([600.0, 10, true], data.values_at(:seconds, :gcs, :matched))
    assert(growth.pretty_inspect.lines[1].start_with?("Grown, by line:"), growth.pretty_inspect)
    assert_equal(1, growth.report.inspect.lines.size)
  end

  test "profiles that are not filtered alike cannot be subtracted" do
    later, earlier = sample_build(**LATER).profile, sample_build.profile
    assert_error(ArgumentError, /have different filters \(none; class String\)/) { later.filter(class: "String") - earlier }
    growth = later.filter(class: "String") - earlier.filter(class: "String")
    assert(growth.report.to_s.include?("A part of the profile, filtered: class String"), growth.report.to_s)
  end

  test "stacks have one number in all profiles if and only if they are equal" do
    random = Random.new(4)
    profiles = Array.new(3) do |round|
      one = build
      stacks = Array.new(150) { Array.new(random.rand(0..6)) { "f#{random.rand(60)}.rb:#{random.rand(1..4)} F#f" } }
      random.rand(200).times { |n| one.row(["only#{round}.rb:#{n + 1} O#o"], "String", inuse: 1, at_gc: 1) }     # other numbers for the same frames
      stacks.each { |stack| one.row(stack, "String", inuse: 1, at_gc: 1) }
      [one.profile, PprofEncoder.reloaded(one)]
    end.flatten
    interner = {}
    seen = profiles.flat_map do |profile|
      profile.rows.shuffle(random: random).map do |row|
        frames = row.stack.map(&:to_s)
        [frames.reject { |frame| frame.include?("(no stack)") },
         profile.stacks.identity(row.columns[Columns::STACK], interner)]
      end
    end.uniq
    assert_equal(seen.size, seen.map(&:first).uniq.size)
    assert_equal(seen.size, seen.map(&:last).uniq.size)
  end

  test "no GC in between is told" do
    assert((one(3) - one(3)).report.to_s.include?("No GC ran in between"))
  end

  test "growth groups by class, type, method and file" do
    growth = sample_build(**LATER).row(["y.rb:1 Y#y"], "String", inuse: 30, at_gc: 105).profile - sample_build.profile
    Groups::BY.each { |by| assert(growth.report(by: by).to_s.include?("Grown, by #{by}:")) }
    assert_error(ArgumentError, /cannot group by 3/) { growth.report(by: 3).to_s }
  end

  # Where malloc is not sampled most of a process's growth may be there: what slots say is not the whole.
  test "a growth of slots only, or of malloc only, has a text that shows it; one step has no rate" do
    growth = lambda do |on, kind: :both|
      malloc = {"state" => on ? "on" : "off", "interval" => (512 * 1024 if on), "interval_changes" => 0, "allocator" => "jemalloc 5.3.1", "missing" => nil}
      earlier, later = [{}, LATER].map { |time| build(**time, malloc: malloc) }
      later.row(["a.rb:1 A#a"], "String", inuse: 30, at_gc: 105)
      later.blocks(["!/lib/libfoo.so foo", "a.rb:1 A#a"], "libfoo.so", 100_000, at_gc: 105, inuse: 30) if on
      text = (later.profile - earlier.profile).report(kind: kind).to_s.tr("\n", " ")
      refute(text.include?("hour"), text)
      text[/The largest growth: .* in \S+ objects(.*?), mostly/, 1]
    end
    assert_equal(["", " of heap slots only", " of heap slots only", " of malloc only"], [growth[true], growth[false], growth[true, kind: :slots], growth[true, kind: :malloc]])
  end
end
