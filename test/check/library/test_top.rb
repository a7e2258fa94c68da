# frozen_string_literal: true

# Every text that a profile can have, hostile.

require "json"
require "pp"
require "tempfile"
require_relative "../../testing"
require_relative "builds"
require_relative "pprof_encoder"

class TopTest < Test
  include Builds
  include HeapSample

  BAD = "\e[31m\n\r\u202e\u0000\u009bX"

  def hostile_build
    meta = {"ruby" => BAD, "drops" => {"#{BAD}drops" => 1},
            "malloc" => {"state" => "on", "interval" => 524_288, "allocator" => BAD, "missing" => BAD}}
    build = Build.new(**meta)
    build.row(["/srv/#{BAD}.rb:1 #{BAD}A#a".tr("\n", "\v"), "/srv/b.rb:2 <main>"], "#{BAD}Klass", type: "T_#{BAD}", inuse: 30, at_gc: 3, freed: 2)
    build.malloc(["!/usr/lib/lib\e[1mfoo.so f\e[2m", "/srv/b.rb:2 <main>"], "lib\e[1mfoo.so", 2000, inuse: 20)
  end

  # Decorates with what no text has.
  MARKER = Class.new do
    Layout::STYLES.each { |name| define_method(name) { |text| "\u0001#{name[0]}#{text}\u0002" } }
  end.new

  test "rows have key, value, interval, share, samples" do
    top = sample_build.profile.top(by: :class)
    assert_equal(%w[String Ticket Array Object], top.map(&:key))
    row = top.first
    assert_equal([1, 96, false], [row.rank, row.samples, row.weak?])
    assert_close(48.0 * 1024**2, row.value, 1e-3)
    assert_close(0.8889, row.share, 1e-3)
    assert_equal(row.estimate.space_interval, row.interval)
    assert(top.to_a[1].weak?)
  end

  test "by any value, of slots, of malloc, in bytes or objects" do
    profile = malloc_build("memsize" => true).profile
    Value::NAMES.each do |name|
      top = profile.top(value: name)
      assert(top.to_s.start_with?(top.text.title.split(" ").first), name)
      next if top.first.nil?

      assert_equal(top.value.unit, top.to_h[:unit])
      assert_close(1, top.sum(&:share), 1e-9)
    end
    assert_equal(40, profile.top(value: :slots_inuse_space).total.samples)
    assert_equal(137, profile.top(value: "malloc_inuse_objects").total.samples)
    objects = profile.top(by: :class, value: :inuse_objects)
    assert_equal(%w[String (malloc)], objects.map(&:key))
    assert_equal(objects.first.estimate.objects_interval, objects.first.interval)
    memsize = profile.top(by: :class, value: :inuse_memsize).first
    assert_close(1_050_000_000, memsize.value)
    assert_nil(memsize.interval)
  end

  test "what is ranked by objects says so, with their interval" do
    assert_equal(<<~TEXT, sample_build.profile.top(by: :class, value: :inuse_objects, top: 2).to_s)
      Live memory (objects that survived the last GC), by class, in objects: 1,346,819 ±259,927 of 54.0 MiB, 108 samples
            objects      95% interval     bytes  samples  share   age  class
       1  1,258,339          ±255,022  48.0 MiB       96  93.4%  80.0  String
      ~2     52,431  15,544 – 129,905   2.0 MiB        4   3.9%  10.0  Array
      and 2 more
      ~ fewer than 10 samples: weak
    TEXT
  end

  test "what makes no sense is an ArgumentError" do
    profile = malloc_build.profile
    assert_error(ArgumentError, /cannot rank by :size: value must be one of inuse_space, .*inuse_memsize/) { profile.top(value: :size) }
    assert_error(ArgumentError, /malloc_inuse_space counts malloc, but kind is :slots/) { profile.top(value: :malloc_inuse_space, kind: :slots) }
    assert_error(ArgumentError, /style must be nil or an object with title, head/) { profile.top.text(style: 3) }
    assert_error(ArgumentError, /root must be a path or nil/) { profile.top.text(root: 3) }
    assert_error(ArgumentError, /cannot group by :colour/) { profile.top(by: :colour) }
    assert_error(ArgumentError, /top must be a positive Integer, not 2.5/) { profile.churn(top: 2.5) }
  end

  test "before the first mark it is of what is young" do
    top = Build.new.row(["a.rb:1 A#a"], "String", young: 30, at_gc: 1).profile.top
    assert_equal(:young_space, top.value.name)
    assert(top.to_s.start_with?("Young memory (allocated since"))
  end

  test "nothing at all has a title, no rows and no figures that are not numbers" do
    empty = Build.new.profile
    assert_equal("Live memory (objects that survived the last GC), by line: nothing sampled\n", empty.top.to_s)
    assert_equal("Allocated since sampling started, by line: nothing sampled\n", empty.churn.to_s)
    [empty.top, empty.churn, empty.report].each { |analysis| JSON.generate(analysis.to_h) }
    assert_equal(0, empty.top.count)
  end

  test "of another tool's profile figures carry, and intervals are not known" do
    Tempfile.create(["heap", ".pb"]) do |file|
      file.binmode
      file.write(PprofEncoder.new(sample_build.raw, types: %w[alloc_objects alloc_space inuse_objects inuse_space], meta: nil).encode)
      file.flush
      profile = Profile.load(file.path)
      row = profile.top.first
      assert_equal([nil, 0, false], [row.interval, row.samples, row.weak?])
      assert_nil(JSON.parse(JSON.generate(profile.report.to_h))["top"]["rows"][0]["interval"])
      text = profile.report.to_s
      refute(text.match?(/freed|lived|  age  |NaN/), text)
      assert(profile.churn.to_s.include?("109.0 MiB (interval not known)"))
    end
  end

  test "to_h is JSON with the figures of the rows" do
    top = malloc_build.profile.top
    data = JSON.parse(JSON.generate(top.to_h), symbolize_names: true)
    row = data[:rows][0]
    assert_equal([1, "/srv/app/load.rb", 12, "Loader#read"], row.values_at(:rank, :path, :line, :label))
    assert_close(top.first.value, row[:value])
    assert_equal(top.first.interval, row[:interval])
    assert_equal([3, "bytes", "inuse_space", "both"], data.values_at(:rows_in_all, :unit, :value, :kind))
    assert_close(top.total.space, data[:total][:bytes])
    report = JSON.parse(JSON.generate(malloc_build.profile.report.to_h), symbolize_names: true)
    assert_equal([4711, "2026-01-01T00:10:00.000000000Z"], report[:header].values_at(:process_id, :taken))
    assert_equal("str_buf_new (ruby)", report[:malloc_functions][0][:function])
  end

  test "inspect is one line and pp a short table" do
    [sample_build.profile.top, sample_build.profile.churn, sample_build.profile.report].each do |analysis|
      assert_equal(1, analysis.inspect.lines.size)
      assert(analysis.pretty_inspect.lines.size.between?(3, 10), analysis.pretty_inspect)
      assert(analysis.pretty_inspect.start_with?(analysis.to_s.start_with?("Heap") ? "Live memory" : analysis.to_s.lines.first.chomp[0, 20]))
    end
    assert([sample_build.profile.top].pretty_inspect.lines[1].start_with?(" "), "nested, it is indented")
  end

  test "no name reaches a terminal as it is" do
    profile = hostile_build.profile
    texts = Groups::BY.flat_map { |by| [profile.report(by: by), profile.top(by: by), profile.churn(by: by), (profile - Build.new.profile).report(by: by)] }
    texts.map { |text| [text.to_s, text.inspect, text.pretty_inspect] }.flatten.each do |text|
      refute(text.delete("\n").match?(HeapSample::Printable::UNSAFE), text.inspect)
      text.lines.each { |line| refute(line.start_with?("X"), text) }
    end
    assert(profile.top(by: :class).to_s.include?("\\e[31m\\n\\r\\u202E\\0\\u009BXKlass"), profile.top(by: :class).to_s)
    assert_equal("#{BAD}Klass", profile.top(by: :class).first.key)
    assert(profile.top(by: :class).to_h[:rows][0][:name].include?("\e[31m"), "data is not text")
  end

  test "a style decorates titles, heads and weak rows, and widens nothing" do
    [sample_build, malloc_build].each do |build|
      profile = build.profile
      %i[report top churn].each do |name|
        [40, 80, 120].each do |width|
          plain = profile.public_send(name).text(width: width).to_s
          styled = profile.public_send(name).text(width: width, style: MARKER).to_s
          assert_equal(plain, styled.gsub(/\u0001.|\u0002/, ""))
          assert(styled.include?("\u0001t") && styled.include?("\u0001h") && (name == :churn || styled.include?("\u0001w")), styled)
        end
      end
    end
  end

  test "at a width of 40 a line has no more than that but for one word" do
    [sample_build, malloc_build].each do |build|
      profile = build.profile
      %i[report top churn].each do |name|
        profile.public_send(name).text(width: 40).to_s.each_line(chomp: true) { |line| assert(line.length <= 44, "#{line.length}: #{line}") }
        profile.public_send(name).text(width: 80).to_s.each_line(chomp: true) { |line| assert(line.length <= 80, "#{line.length}: #{line}") }
      end
    end
  end

  test "churn: what was freed, with its interval, how long it lived, and how fast it is made" do
    churn = sample_build.profile.churn
    assert_equal(<<~TEXT, churn.text(root: "/srv/app").to_s)
      Allocated since sampling started, by line: 109.0 MiB ±14.5 MiB in 2,729,683 objects, 218 samples
      186.0 KiB a second of heap slots only; 47.7% (41.2 – 54.3%) freed, after 2.0 GCs on average.
              bytes   95% interval    objects  samples  share  freed  95% interval  lifetime  line
       1  102.0 MiB      ±14.0 MiB  2,673,971      204  93.6%  51.0%  44.2 – 57.8%       2.0  models/x.rb:12 Foo#bar
       2    5.0 MiB  2.5 – 9.0 MiB     32,773       10   4.6%   0.0%   0.0 – 27.8%         -  …/lib/base.rb:100 Model::Base.n…
          ← main.rb:3 <main>
      ~3    1.5 MiB  0.3 – 4.2 MiB      9,832        3   1.4%   0.0%   0.0 – 56.1%         -  main.rb:3 <main>
      ~4    0.5 MiB  0.0 – 2.6 MiB     13,108        1   0.5%   0.0%   0.0 – 79.3%         -  (no stack)
      ~ fewer than 10 samples: weak

      Most allocation: models/x.rb:12 `Foo#bar` allocated 102.0 MiB ±14.0 MiB, 93.6% of the total. 51.0% (44.2 – 57.8%) of it
      was freed, after 2.0 GCs on average.
    TEXT
    assert_close(104 / 218.0, churn.freed_share, 1e-3)
  end

  test "the interval of a share covers it 95 times in 100" do
    random = Random.new(7)
    [[0.5, 40, 2], [0.9, 100, 13_000], [0.05, 200, 500]].each do |share, samples, weight|
      hits = 2000.times.count do
        freed = samples.times.count { random.rand < share }
        low, high = Statistics.proportion(freed / samples.to_f, total: samples * weight * 40.0,
                                          variance: samples * weight * (weight - 1) * 1600.0, size: 40.0)
        share.between?(low, high)
      end
      assert(hits.between?(1850, 1975), "#{share}: #{hits}")
    end
  end
end
