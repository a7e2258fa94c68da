# frozen_string_literal: true

# Rows of malloc have allocated, freed and resident memory.

require "json"
require_relative "../../testing"
require_relative "builds"
require_relative "pprof_encoder"

class MallocAllocationsTest < Test
  include Builds
  include HeapSample

  BLOCK_MIB = 1 << 20
  THREADS = ["#{RUBY} ruby_xmalloc", "#{RUBY} thread_create_core", "/srv/app/pool.rb:9 Thread.new", "/srv/app/pool.rb:9 Pool#grow", MAIN].freeze
  BUFFER = ["#{RUBY} str_buf_new", "/srv/app/load.rb:12 Loader#read", MAIN].freeze
  CACHE = ["#{RUBY} rb_st_init_table_with_size", "/srv/app/cache.rb:5 Cache#put", MAIN].freeze

  # At GC 100, 110, 120, …, ten minutes apart.
  def moment(number, **meta)
    Build.new(**{"gc" => {"count" => 100 + 10 * number, "major" => 20 + 3 * number, "minor" => 80,
                          "last_major_gc" => 99 + 10 * number, "last_major_ns" => Build::STARTED + (10 + 10 * number) * Build::MINUTE - 1_000_000_000},
                 "taken_ns" => Build::STARTED + (10 + 10 * number) * Build::MINUTE}, **meta)
  end

  # 40 samples of strings of which all live; buffers of 20,000 bytes, of 100 samples 60 freed again after 2 GCs.
  def loader(build = moment(0))
    build.row(["/srv/app/load.rb:12 Loader#read", MAIN], "String", inuse: 40, at_gc: 90)
         .blocks(BUFFER, "ruby", 20_000, alloc: 100, freed: 60, lived: 2)
         .blocks(BUFFER, "ruby", 20_000, at_gc: 80, inuse: 30, thread: 1)
         .blocks(BUFFER, "ruby", 20_000, at_gc: 99, inuse: 10, thread: 2)
  end

  # 500 threads, whose VM stacks of 1 MiB are touched in their first 16 KiB.
  def pool(build = moment(0), threads: 500, at_gc: 95)
    samples = (threads * (1 - Math.exp(-2))).round
    build.blocks(THREADS, "ruby", BLOCK_MIB, at_gc: at_gc, inuse: samples, resident: 16 << 10).blocks(THREADS, "ruby", BLOCK_MIB, alloc: samples)
  end

  # --- files ---

  test "a saved profile has malloc's allocations, frees and resident bytes, with samples and variance of the freed blocks" do
    build = pool(loader)
    build.profile.rows.zip(PprofEncoder.reloaded(build).rows) do |row, read|
      assert_equal([row.malloc?, row.allocation_gc, row.thread, row.freed.samples, row.alloc.samples, row.inuse.samples],
                   [read.malloc?, read.allocation_gc, read.thread, read.freed.samples, read.alloc.samples, read.inuse.samples])
      [row.freed, row.alloc, row.inuse].zip([read.freed, read.alloc, read.inuse]) do |one, other|
        assert_close(one.space, other.space, 1e-4)
        assert_close(one.variance, other.variance, 1e-4)
      end
      assert_close(row[:resident], read[:resident], 1e-4)
      assert_close(row[:freed_gcs], read[:freed_gcs], 1e-4)
    end
    assert_equal(*[build.profile, PprofEncoder.reloaded(build)].map { |profile| profile.report.to_s.lines.last(2) })
  end

  test "the header says at which interval malloc was sampled, and at which at first" do
    line = lambda do |**malloc|
      Build.new("malloc" => {"state" => "on", "allocator" => "jemalloc 5.3.1", **malloc.transform_keys(&:to_s)}).profile.report.to_s.lines[2].chomp
    end
    assert_equal("malloc: one sample per 100,000 B allocated, jemalloc 5.3.1", line[interval: 100_000, first_interval: 100_000])
    assert_equal("malloc: one sample per 1 MiB allocated (512 KiB at first), jemalloc 5.3.1", line[interval: BLOCK_MIB, first_interval: 512 << 10, interval_changes: 1])
    text = "malloc: not sampled (glibc 2.36): this Ruby was built without jemalloc: malloc is not sampled"
    assert_equal(text, line[state: "missing", allocator: "glibc 2.36", missing: "this Ruby was built without jemalloc: malloc is not sampled"])
  end

  # --- churn, ages, filters ---

  test "churn counts malloc's allocations and frees in addition to those of slots" do
    churn = loader.profile.churn
    assert_equal(140, churn.total.samples)
    row = churn.first.group
    blocks = row.alloc.space - 40 * loader.weight(40) * 40
    assert_close(0.6 * blocks / row.alloc.space, row.freed_share, 1e-6)
    assert_close(2, row.lifetime, 1e-6)
    low, high = row.freed_interval
    assert(low < row.freed_share && row.freed_share < high && high - low < 0.25, "#{low} #{high}")
    text = churn.to_s
    assert(text.include?("Allocated since sampling started, by line: 71.0 MiB") && !text.include?("slots only"), text)
    assert_equal(0.6, loader.profile.churn(kind: :malloc).freed_share.round(6))
  end

  test "blocks have ages, in generations, groups and filters" do
    profile = loader.profile
    generations = profile.generations
    assert_equal([80, 0], [generations.total.samples, generations.ageless.samples])
    assert_equal({1..1 => 10, 8..15 => 40, 16..20 => 30}, generations.map { |one| [one.ages, one.estimate.samples] }.to_h.select { |_, samples| samples > 0 })
    refute(generations.to_s.include?("No age is known"), generations.to_s)
    assert_close((30 * 20 + 10 * 1) / 40.0, profile.groups(:line, kind: :malloc).first.age(100), 1e-6)
    assert_equal([30, 10], [15.., 0..5].map { |age| profile.filter(age: age, kind: :malloc).groups(:line).total.inuse.samples })
  end

  # --- growth ---

  # Blocks that come and go at random, at two lines; a profile is taken at the end of GC 100, of 110, of 120.
  # What has a GC's number was allocated after that GC and before the next.
  def block_lives(random)
    Array.new(600) do
      allocated = random.rand(90.0..121.0)
      {line: random.rand(2) + 1, allocated: allocated, freed: allocated + (random.rand(3).zero? ? 1000 : random.rand(0.1..15.0))}
    end
  end

  # Every block is sampled: blocks of 100 MB.
  def counted(objects, number, at)
    allocated = objects.select { |object| object[:allocated] <= at }
    build = moment(number, "gc" => {"count" => at.floor})
    allocated.group_by { |object| object[:line] }.each do |line, some|
      stack = ["#{RUBY} f", "/srv/a.rb:#{line} A#a"]
      build.blocks(stack, "ruby", 10**8, alloc: some.size, freed: some.count { |object| object[:freed] <= at })
      some.select { |object| object[:freed] > at }.group_by { |object| object[:allocated].floor }.each do |at_gc, alive|
        build.blocks(stack, "ruby", 10**8, at_gc: at_gc, inuse: alive.size)
      end
    end
    build.profile
  end

  test "every block counted: what a growth says came and went is what came and went" do
    random = Random.new(3)
    20.times do
      objects = block_lives(random)
      [[100.9999999, 110.9999999], [100.5, 110.5], [100.3, 100.9]].each do |from, to|
        growth = counted(objects, 1, to) - counted(objects, 0, from)
        came = objects.select { |object| object[:allocated] > from && object[:allocated] <= to && object[:freed] > to }.size
        went = objects.select { |object| object[:allocated] <= from && object[:freed] > from && object[:freed] <= to }.size
        total = growth.total
        assert_close((came - went) * 1e8, total.space, 1e-3)
        assert(growth.matched?)
        # the rows of the GC in which the first was taken may be overstated, alike on both sides
        over = total.gained.samples - came
        assert(over >= 0 && over == total.lost.samples - went, "#{over}, #{total.lost.samples - went}")
        assert(over <= objects.count { |object| object[:allocated].floor == from.floor && object[:allocated] <= from && object[:freed] > to }, over.to_s)
      end
    end
  end

  test "100 MB that stay add no error to a growth, be they of the very GC of the first profile, and be there no GC at all" do
    [[3, 100], [100, 100], [100, 110]].each do |at_gc, gc|
      steady = lambda do |number, more|
        moment(number, "gc" => {"count" => number.zero? ? 100 : gc}).blocks(CACHE, "ruby", 20_000, at_gc: at_gc, inuse: 200)
                       .blocks(CACHE, "ruby", 20_000, alloc: 200).blocks(BUFFER, "ruby", 20_000, alloc: 50 + more, freed: 50 + more).profile
      end
      growth = steady[1, 30] - steady[0, 0]
      assert_equal([], growth.rows)
    end
  end

  test "what a line mallocs and frees again does not blur what it keeps" do
    line = lambda do |number, kept, passing|
      build = moment(number).blocks(CACHE, "ruby", 20_000, alloc: kept.sum + 5_000 * (number + 1), freed: 5_000 * (number + 1) - passing)
                            .blocks(CACHE, "ruby", 20_000, at_gc: 100 + 10 * number - 1, inuse: passing)
      kept.each_with_index { |count, index| build.blocks(CACHE, "ruby", 20_000, at_gc: 95 + 10 * index, inuse: count) }
      build.profile
    end
    growth = line[1, [200, 30], 5] - line[0, [200], 5]
    assert_equal([35, 5], [growth.total.gained.samples, growth.total.lost.samples])
    assert(growth.total.significant?)
  end

  test "an interval of malloc that moved matches blocks all the same" do
    malloc = ->(changes) { {"state" => "on", "interval" => (512 << 10) >> changes, "interval_changes" => changes, "thinnings" => 0} }
    assert((loader(moment(1, "malloc" => malloc[3])).profile - loader(moment(0, "malloc" => malloc[1])).profile).matched?)
  end

  test "where malloc's interval changed in between, totals are compared" do
    later = loader(moment(1, "malloc" => {"state" => "on", "interval" => 512 << 10, "interval_changes" => 2})).profile
    refute((later - loader.profile).matched?)
  end

  # --- three profiles ---

  test "every block counted: what came and stayed is what is said" do
    random = Random.new(4)
    20.times do
      objects = block_lives(random)
      moments = [100.9999999, 110.9999999, 120.9999999]
      profiles = moments.each_with_index.map { |at, number| counted(objects, number, at) }
      alive = ->(object, at) { object[:allocated] <= at && object[:freed] > at }
      came = objects.select { |object| !alive[object, moments[0]] && alive[object, moments[1]] }
      stayed = came.select { |object| alive[object, moments[2]] }
      retained = Retained.new(*profiles)
      assert_equal(stayed.group_by { |object| object[:line] }.transform_values(&:size).sort, retained.map { |row| [row.key.line, row.samples] }.sort)
      assert_equal([stayed.size, came.size, false], [retained.total.samples, retained.total.came.samples, retained.total.bound?])
      assert_close(stayed.size / came.size.to_f, retained.total.share, 1e-6)
    end
  end

  test "a line that keeps nearly all, and mallocs much that it frees, retains nearly all: no lower bound is called an estimate" do
    profiles = [0, 1, 2].map do |number|
      build = moment(number).blocks(CACHE, "ruby", 20_000, alloc: 10**6 * (number + 1), freed: 10**6 * number)
      (0..number).inject(build) { |all, kept| all.blocks(CACHE, "ruby", 20_000, at_gc: 95 + 10 * kept, inuse: kept.zero? ? 50 : 200) }.profile
    end
    retained = Retained.new(*profiles)
    assert_equal([200, 1.0], [retained.first.samples, retained.first.share])
    text = retained.to_s
    assert(text.include?("100.0% (98.") && !text.include?("at least"), text)
  end

  test "where no GC ran, what came and went of malloc is said not to be known" do
    profiles = [0, 1, 2].map { |number| loader(moment(number, "gc" => {"count" => 100})).profile }
    assert(Retained.new(*profiles).to_s.include?("so figures are lower bounds"), Retained.new(*profiles).to_s)
  end

  # --- what is resident ---

  test "what was never touched is in use and not resident, and every report says so" do
    profile = pool(loader).profile
    text = profile.report.text(root: "/srv/app").to_s
    assert(text.match?(/by line: 540\.\d MiB ±\d+\.\d MiB, 4\d\.\d MiB of\s+it\s+resident, in/), text)
    assert(text.match?(/bytes +95% interval +resident/), text)
    assert(text.match?(/^ *1 +499\.\d MiB .* 7\.8 MiB .*pool\.rb:9 Pool#grow$/), text)
    assert(text.match?(/retains 499\.\d MiB ±\d+\.\d MiB, 7\.8 MiB of it\s+resident, in 500 blocks of malloc/), text)
    [80, 120].each { |width| profile.report.text(width: width).to_s.each_line { |line| assert(line.chomp.length <= width, line) } }
    assert(profile.report.text(width: 80).to_s.include?("resident"))
    refute(loader.profile.report.to_s.include?("resident"))
    data = JSON.parse(JSON.generate(profile.report.to_h))
    assert_close(500 * (16 << 10), data["top"]["rows"][0]["resident_bytes"], 3e-3)
  end

  test "what is resident can be ranked by, with an interval that the touched part alone makes" do
    profile = pool(loader).profile
    top = profile.top(value: :inuse_resident)
    assert_equal(["/srv/app/load.rb", "/srv/app/pool.rb"], top.map { |row| row.key.path })
    assert_close(500 * (16 << 10), top.to_a[1].value, 3e-3)
    whole = loader.profile.top.first.interval
    top.first.interval.zip(whole) { |one, other| assert_close(one, other, 1e-6) }
    assert(top.to_s.start_with?("Live and resident memory (without memory that was never touched), by line: "), top.to_s)
    assert(profile.tree(value: :inuse_resident).to_s.include?("7.8 MiB"))
  end

  test "blocks of one size of which half are touched as a whole: the interval of what is resident covers the truth" do
    random = Random.new(5)
    missed = 400.times.count do
      sampled = Array.new(400) { random.rand < 1 - Math.exp(-100_000 / 524_288.0) ? random.rand(2) : nil }.compact
      build = Build.new.blocks(BUFFER, "ruby", 100_000, at_gc: 1, inuse: sampled.size, resident: sampled.empty? ? 0 : 100_000.0 * sampled.sum / sampled.size)
      low, high = build.profile.groups(:line).total.inuse.resident.space_interval
      !(200 * 100_000).between?(low, high)
    end
    assert(missed <= 36, missed.to_s)           # 20 expected of 5%, where the truth is not itself random
  end

  test "of a growth all is said, and what is resident of it" do
    growth = pool(moment(1), threads: 1500, at_gc: 105).profile - pool(moment(0), threads: 500, at_gc: 95).profile
    text = growth.report.text(root: "/srv/app").to_s
    assert(text.include?("+1.0 GiB (+0.9 – +1.0 GiB), +15.6 MiB of it resident, in 1,000 objects, mostly\nblocks of malloc."), text)
  end

  test "a line that mallocs more than it has slots has malloc for a class" do
    assert(malloc_build.profile.top.text(root: "/srv/app").to_s.include?("(malloc) 98% +1"), malloc_build.profile.top.text(root: "/srv/app").to_s)
    slots = Build.new.row(CACHE.last(2), "String", inuse: 60, at_gc: 1).blocks(CACHE, "ruby", 20_000, at_gc: 1, inuse: 20).profile
    assert_equal("String", ClassMix.new(slots, slots.groups(:line).first, Layout.new).column)
  end
end
