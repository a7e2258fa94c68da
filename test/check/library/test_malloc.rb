# frozen_string_literal: true

require "tempfile"
require_relative "../../testing"
require_relative "builds"
require_relative "pprof_encoder"

class MallocTest < Test
  include Builds
  include HeapSample

  MB = 10**6
  LATER_META = {"gc" => {"count" => 110, "minor" => 85, "major" => 25}, "taken_ns" => Build::STARTED + 20 * Build::MINUTE}.freeze

  def profile = malloc_build.profile

  # --- rows and frames ---

  test "a row of malloc says so, and which library called malloc" do
    slots, buffers = profile.rows
    assert_equal([false, "", 40], [slots.malloc?, slots.library, slots.slot_size])
    assert_equal([true, "ruby", 0, "(malloc)", nil], [buffers.malloc?, buffers.library, buffers.slot_size, buffers.class_name, buffers.allocation_gc])
    assert(profile.malloc? && !Build.new.row([], "String", inuse: 1).profile.malloc?)
  end

  test "a native frame is a function in a file" do
    frame = profile.rows[2].stack[1]
    assert_equal(["xmlNewNode", "/usr/lib/x86_64-linux-gnu/libxml2.so.2", "libxml2.so.2", 0, true],
                 [frame.label, frame.path, frame.library, frame.lineno, frame.native?])
    assert_equal("xmlNewNode (libxml2.so.2)", frame.to_s)
    ruby = profile.rows[2].stack.last
    assert_equal([false, nil, 0], [ruby.native?, ruby.library, ruby.address])
  end

  test "native code without a name is a place in its file" do
    assert_equal("libxml2.so.2+0x3234", profile.rows[3].stack.first.to_s)
    nowhere = Build.new.malloc(["!  @0x1234", MAIN], "", 64, inuse: 1).profile
    assert_equal("0x1234", nowhere.rows[0].stack.first.to_s)
  end

  test "C++ names and operators are left as they are" do
    frame = Frame.new("_ZN3foo3barEv", "/usr/lib/libfoo.so", nil, 0, 7)
    assert_equal(%w[_ZN3foo3barEv _ZN3foo3barEv], [frame.qualified_label, frame.base_label])
  end

  test "malloc'd memory is put down to the nearest Ruby line" do
    lines = profile.groups(:line).to_h { |group| [Layout.new(root: "/srv/app").place(group.key), group.inuse.samples] }
    assert_equal({"load.rb:12 Loader#read" => 140, "parse.rb:7 Parser#parse" => 35, "(no GVL) (no GVL)" => 2}, lines)
  end

  test "a stack without a Ruby frame has no line" do
    assert_equal("(no stack)", Layout.new.place(Build.new.malloc(["#{XML} xmlNewNode"], "libxml2.so.2", 64, inuse: 1)
                                              .profile.groups(:line).first.key))
  end

  # --- groups ---

  test "groups add slots and malloc, or take one of them" do
    totals = {both: 177, slots: 40, malloc: 137}
    totals.each do |kind, samples|
      Groups::BY.each { |by| assert_equal(samples, profile.groups(by, kind: kind).total.inuse.samples) }
    end
    group = profile.groups(:line).first
    assert_close(1000 * MB, group.malloc.space, 1e-6)
    assert_close(group.inuse.space, group.malloc.space + group.slots_space)
  end

  test "another kind is an ArgumentError that says which there are" do
    [-> { profile.report(kind: :heap).to_s }, -> { profile.groups(:line, kind: nil) }, -> { (profile - profile).report(kind: "slots").to_s }].each do |call|
      assert_error(ArgumentError, /kind must be one of :both, :slots, :malloc, not/) { call.call }
    end
  end

  test "a function is that of the library which wanted the memory, not what hands it on" do
    assert_equal({"(slots)" => 40, "str_buf_new (ruby)" => 100, "xmlNewNode (libxml2.so.2)" => 32, "libxml2.so.2+0x3234" => 5},
                 profile.groups(:function).to_h { |group| [group.key, group.inuse.samples] })
    only = Build.new.malloc(["#{XML} xmlMallocLoc", "!/srv/app/x.so start", MAIN], "libxml2.so.2", 64, inuse: 1).profile
    assert_equal("xmlMallocLoc (libxml2.so.2)", only.groups(:function).first.key)
    none = Build.new.malloc([MAIN], "", 64, inuse: 1).profile
    assert_equal("(unknown)", none.groups(:function).first.key)
  end

  test "libraries" do
    assert_equal({"(slots)" => 40, "ruby" => 100, "libxml2.so.2" => 37},
                 profile.groups(:library).to_h { |group| [group.key, group.inuse.samples] })
  end

  # --- estimates ---

  test "the number of blocks has its variance too, from their mean size" do
    estimate = profile.rows[2].inuse
    weight = 1 / (1 - Math.exp(-200 / (512 * 1024.0)))
    assert_close(30 * weight * (weight - 1), estimate.objects_variance)
    low, high = estimate.objects_interval
    assert(low < estimate.objects && estimate.objects < high)
  end

  test "blocks that are nearly all sampled are exact, and few of them are not weak" do
    [[3, 10 * MB], [1, 100 * MB], [100, 10 * MB]].each do |samples, size|
      estimate = Build.new.malloc([MAIN], "ruby", size, inuse: samples).profile.rows[0].inuse
      assert(estimate.exact? && !estimate.weak?, estimate.inspect)
      assert_equal("exact", Layout.new.interval(estimate))
      low, high = estimate.space_interval
      assert(low <= samples * size * 1.0001 && high >= samples * size * 0.9999 && high - low < 1e-3 * samples * size, "#{low} #{high}")
    end
    assert(Build.new.malloc([MAIN], "ruby", 2000, inuse: 9).profile.rows[0].inuse.weak?)
  end

  test "intervals are sound for blocks of any size" do
    16.step(40, 2) do |power|
      [1, 2, 9, 99, 100, 1000].each do |samples|
        estimate = Build.new.malloc([MAIN], "ruby", 1 << power, inuse: samples).profile.rows[0].inuse
        low, high = estimate.space_interval
        assert([low, high].all?(&:finite?) && low <= estimate.space + 1 && high >= estimate.space - 1 && low >= 0,
               "#{samples} of 2^#{power}: #{low} to #{high}")
      end
    end
  end

  # --- files ---

  test "a saved profile reads as it was" do
    build = malloc_build("memsize" => true)
    build.profile.rows.zip(PprofEncoder.reloaded(build).rows) do |original, row|
      assert_equal([original.malloc?, original.library, original.class_name, original.slot_size], [row.malloc?, row.library, row.class_name, row.slot_size])
      assert_equal(original.stack.map(&:to_s), row.stack.map(&:to_s))
      assert_equal(original.stack.map(&:native?), row.stack.map(&:native?))
      assert_equal([original.inuse.samples, original.alloc.samples], [row.inuse.samples, row.alloc.samples])
      assert_close(original.inuse.space, row.inuse.space, 1e-6)
      assert_close(original[:memsize], row[:memsize], 1e-6)
    end
    # Sums of rounded figures may be one object off.
    assert_equal(*[build.profile, PprofEncoder.reloaded(build)].map { |profile| profile.report.text(root: "/srv/app").to_s.lines.reject { |line| line.start_with?("Allocated") } })
  end

  test "Go's profiles, whose locations have addresses and source files, are not native" do
    go = Class.new(PprofEncoder) do
      def address(_) = 4121
    end
    Tempfile.create(["heap", ".pb"]) do |file|
      file.binmode
      file.write(go.new(Build.new.row([MAIN], "String", inuse: 12, at_gc: 3).raw, meta: nil).encode)
      file.flush
      frame = Profile.load(file.path).rows[0].stack[0]
      assert_equal([false, "/srv/app/main.rb:3:in '<main>'"], [frame.native?, frame.to_s])
    end
  end

  # --- the report ---

  test "the report of slots and malloc, word for word" do
    meta = {"malloc" => {"state" => "on", "interval" => 512 * 1024, "allocator" => "jemalloc 5.3.1"}}
    assert_equal(<<~TEXT, malloc_build(**meta, "memsize" => true).profile.report.text(root: "/srv/app").to_s)
      Heap sample of process 4711, ruby 3.4.5 (2025-07-16 revision 20cda200d3) [x86_64-linux]
      taken 2026-01-01 00:10:00 UTC, 10 min 0 s after sampling started, one sample per 512 KiB allocated
      malloc: one sample per 512 KiB allocated, jemalloc 5.3.1
      100 GCs: 80 minor, 20 major (the last 45.0 s before)
      40 live samples, the sampler itself uses 2.0 MiB

      Live memory (objects that survived the last GC, and malloc blocks not freed), by line: 992.2 MiB ±8.6 MiB in 620,094
      objects, 177 samples
              bytes   95% interval     slots     malloc  objects  samples  share  class            line
       1  973.7 MiB       ±6.2 MiB  20.0 MiB  953.7 MiB  524,408      140  98.1%  (malloc) 98% +1  load.rb:12 Loader#read
       2   17.5 MiB       ±5.9 MiB         -   17.5 MiB   79,301       35   1.8%  (malloc)         parse.rb:7 Parser#parse
      ~3    1.0 MiB  0.1 – 3.4 MiB         -    1.0 MiB   16,385        2   0.1%  (malloc)         (no GVL) (no GVL)
      ~ fewer than 10 samples: weak

      By class:
             bytes  95% interval  with buffers  objects  samples  share   age  class
      1  972.2 MiB      ±6.0 MiB             -   95,786      137  98.0%     -  (malloc)
      2   20.0 MiB      ±6.3 MiB    1001.4 MiB  524,308       40   2.0%  80.0  String

      malloc by function:
              bytes   95% interval  function                   line
       1  953.7 MiB          exact  str_buf_new (ruby)         load.rb:12 Loader#read
       2   16.0 MiB       ±5.7 MiB  xmlNewNode (libxml2.so.2)  parse.rb:7 Parser#parse
      ~3    2.5 MiB  0.9 – 5.7 MiB  libxml2.so.2+0x3234        parse.rb:7 Parser#parse

      Young (allocated since the last GC, not in the tables): nothing sampled
      (before start): about 19.1 MiB of slots still allocated, of 19.1 MiB when sampling started

      Allocated since sampling started, by line: 1.9 GiB ±0.02 GiB in 1,909,833 objects, 734 samples
              bytes   95% interval    objects  samples  share  freed  95% interval  line
       1    1.7 GiB      ±0.01 GiB    524,488      220  87.1%   0.0%    0.0 – 0.0%  load.rb:12 Loader#read
       2  252.6 MiB      ±22.0 MiB  1,311,613      505  12.7%   0.0%    0.0 – 0.8%  parse.rb:7 Parser#parse
      ~3    4.5 MiB  2.1 – 8.4 MiB     73,733        9   0.2%   0.0%   0.0 – 29.9%  (no GVL) (no GVL)

      The largest: load.rb:12 `Loader#read` retains 973.7 MiB ±6.2 MiB in 524,408 blocks of malloc and `String`s, 98.1% of
      live memory.
    TEXT
  end

  test "the tables can be of one kind" do
    slots = profile.report(kind: :slots).to_s
    assert(slots.include?("heap slots only, by line: 20.0 MiB"), slots)
    refute(slots.include?("malloc by function"), slots)
    malloc = profile.report(kind: :malloc).to_s
    assert(malloc.include?("malloc only, by line: 972.2 MiB"), malloc)
    assert(!malloc.include?("By class") && !malloc.include?("Young") && !malloc.include?("(before start)"), malloc)
  end

  test "every grouping has its report" do
    Groups::BY.product(Groups::MEMORY) do |by, kind|
      assert(profile.report(by: by, kind: kind).to_s.include?("\n\nThe largest: "))
    end
  end

  test "what objects hold is told by class where it was asked for" do
    refute(profile.report.to_s.include?("with buffers"))
    text = malloc_build("memsize" => true).profile.report.to_s
    assert(text.match?(/By class:\n.*with buffers.*\n.*\n.*20\.0 MiB.*1001\.4 MiB.*String$/), text)
  end

  test "the header says what malloc can tell and what to set" do
    header = ->(**malloc) { Build.new("malloc" => malloc.transform_keys(&:to_s)).profile.report.to_s.lines[2].chomp }
    assert_equal("malloc: one sample per 512 KiB allocated, jemalloc 5.3.1", header[state: "on", interval: 524_288, allocator: "jemalloc 5.3.1"])
    assert_equal("malloc: one sample per 1 MiB allocated; missing: frees", header[state: "on", interval: 1 << 20, missing: "frees"])
    assert_equal("malloc: not sampled, on standby: GC::SampleProfile.start starts it", header[state: "standby"])
    assert_equal("malloc: not sampled: start Ruby with --heap-sample=malloc=on to see it", header[state: "off"])
    assert_equal("malloc: not sampled (glibc 2.36): LD_PRELOAD=libjemalloc.so.2", header[state: "missing", allocator: "glibc 2.36",
                                                                                missing: "LD_PRELOAD=libjemalloc.so.2"])
    refute(header[state: "new in format 9"].include?("malloc"))
  end

  test "inspect mentions malloc where there is some" do
    assert_equal("#<HeapSample::Profile 5 rows, 4 of malloc, 15 frames>", profile.inspect)
    assert_equal("#<HeapSample::Profile 1 rows, 1 frames>", Build.new.row([MAIN], "String", inuse: 1).profile.inspect)
  end

  # --- growth ---

  def held(inuse, ever, size: 10 * MB, stack: [RUBY + " str_buf_new", PARSE], **meta)
    Build.new(**meta).malloc(stack, "ruby", size, inuse: inuse, ever: ever, at_gc: 100).profile
  end

  def later(inuse, ever, **options) = held(inuse, ever, **LATER_META, **options)

  def growth_of(later, earlier)
    growth = later - earlier
    total = growth.total
    assert_close(later.groups(:line).total.inuse.space - earlier.groups(:line).total.inuse.space, total.space, 1e-6)
    assert_close(later.groups(:line).total.inuse.objects - earlier.groups(:line).total.inuse.objects, total.objects, 1e-6)
    [growth, total.gained.samples, total.lost.samples]
  end

  test "a row that holds a steady 100 MB neither gained nor lost" do
    [10 * MB, 20_000].each do |size|
      growth, gained, lost = growth_of(later(10, 25, size: size), held(10, 25, size: size))
      assert_equal([[], 0, 0], [growth.rows, gained, lost])
      assert(growth.matched? && growth.report.to_s.end_with?("Nothing grew by more than sampling noise.\n"))
    end
  end

  test "what was added is gained, with its own variance" do
    growth, gained, lost = growth_of(later(40, 60, size: 20_000), held(30, 50, size: 20_000))
    assert_equal([10, 0], [gained, lost])
    assert_close(held(10, 10, size: 20_000).rows[0].inuse.variance, growth.total.gained.variance, 1e-6)
    assert(growth.total.significant?)
  end

  test "what was freed is lost" do
    _, gained, lost = growth_of(later(5, 50, size: 20_000), held(30, 50, size: 20_000))
    assert_equal([0, 25], [gained, lost])
    _, gained, lost = growth_of(later(0, 50), held(30, 50))
    assert_equal([0, 30], [gained, lost])
  end

  test "what was replaced is both gained and lost" do
    growth, gained, lost = growth_of(later(30, 70, size: 20_000), held(30, 50, size: 20_000))
    assert_equal([20, 20], [gained, lost])
    assert_close(0, growth.total.space, 1e-3)
    refute(growth.total.significant?)
  end

  test "neither side can exceed what there was: churn is not counted" do
    _, gained, lost = growth_of(later(30, 5_000, size: 20_000), held(20, 50, size: 20_000))
    assert_equal([30, 20], [gained, lost])
  end

  test "counters that began anew do not go below 0" do
    _, gained, lost = growth_of(later(30, 3, size: 20_000), held(20, 50, size: 20_000))
    assert_equal([10, 0], [gained, lost])
    _, gained, lost = growth_of(later(10, 3, size: 20_000), held(20, 50, size: 20_000))
    assert_equal([0, 10], [gained, lost])
  end

  test "sizes that differ keep the difference exact" do
    random = Random.new(1)
    300.times do
      before, ever = random.rand(1..30), random.rand(30..60)
      earlier = Build.new.malloc([PARSE], "ruby", random.rand(100..2 * MB), inuse: before, ever: ever, at_gc: 100).profile
      now = Build.new(**LATER_META).malloc([PARSE], "ruby", random.rand(100..2 * MB), inuse: random.rand(0..30), ever: ever + 7, at_gc: 100).profile
      growth, = growth_of(now, earlier)
      growth.rows.each do |row|
        [row.gained, row.lost].each do |side|
          assert([side.samples, side.space, side.objects, side.variance, side.objects_variance].all? { |value| value >= 0 }, side.inspect)
        end
      end
    end
  end

  test "rows of one stack are taken together" do
    double = Build.new.malloc([PARSE], "ruby", 20_000, inuse: 10, ever: 10, at_gc: 100).malloc([PARSE], "ruby", 20_000, inuse: 10, ever: 10, at_gc: 100).profile
    _, gained, lost = growth_of(later(20, 20, size: 20_000, stack: [PARSE]), double)
    assert_equal([0, 0], [gained, lost])
  end

  test "another place in the same function is another stack" do
    earlier = held(20, 20, stack: ["#{XML} f @0x7e0000001000", PARSE])
    _, gained, lost = growth_of(later(20, 20, stack: ["#{XML} f @0x7e0000001010", PARSE]), earlier)
    assert_equal([20, 20], [gained, lost])
  end

  test "across processes and intervals of malloc the totals are compared" do
    [{process_start: "other"}, {malloc: {"state" => "on", "interval" => 1 << 20}}].each do |meta|
      growth, gained, lost = growth_of(later(40, 60, size: 20_000, **meta), held(30, 50, size: 20_000))
      assert_equal([false, 40, 30], [growth.matched?, gained, lost])
      assert(growth.report.to_s.include?("totals are compared"), growth.report.to_s)
    end
  end

  test "when malloc was sampled in one of the two only, it is left out" do
    off = Build.new.row([PARSE], "String", inuse: 20, at_gc: 10).profile
    on = Build.new(**LATER_META).row([PARSE], "String", inuse: 20, at_gc: 10).malloc([PARSE], "ruby", 20_000, inuse: 40).profile
    growth = on - off
    assert_equal([true, true, []], [growth.malloc_left_out?, growth.matched?, growth.rows])
    assert(growth.report.to_s.include?("Malloc memory is left out"), growth.report.to_s)
  end

  test "when the slots' interval changed alone, rows of malloc are matched" do
    settings = {"interval" => 1 << 20, "first_interval" => 1 << 19, "interval_changes" => 1}
    growth = later(30, 50, settings: settings) - held(30, 50)
    assert_equal([false, []], [growth.matched?, growth.rows])
  end

  test "growth can be of one kind, by function too" do
    growth = malloc_build(**LATER_META).malloc(["#{XML} xmlNewNode", "/srv/app/leak.rb:1 Leak#x"], "libxml2.so.2", 200, inuse: 60, at_gc: 101).profile - profile
    assert_equal(["xmlNewNode (libxml2.so.2)"], growth.groups(:function, kind: :malloc).map(&:key))
    assert_equal([], growth.groups(:line, kind: :slots))
    assert(growth.report(by: :function, kind: :malloc).to_s.include?("malloc only"), growth.report.to_s)
    assert(growth.report.to_s.include?("leak.rb:1 `Leak#x` +30.0 MiB"), growth.report.to_s)
  end
end
