# frozen_string_literal: false
require 'test/unit'
require 'rbconfig'
require 'tmpdir'

# allocated, freed and live malloc blocks against what a program is known to have done.
#
# A block far larger than the interval is a sample all but certainly, so these counts are exact.
class TestHeapSamplerMallocTruth < Test::Unit::TestCase
  HELPERS = <<~'RUBY'
    def malloc_rows(profile = GC.sample_profile) = profile.rows.select { |row| row.class_name == "(malloc)" }
    def stat(name) = GC::SampleProfile.stat.fetch(name)

    # Of the rows below a method, of the blocks that a function of C asked for: what the VM itself allocates there is
    # sampled by chance.
    def rows_of(method, by, rows)
      rows.select { |row| row.stack.first.label.match?(by) && row.stack.any? { |frame| frame.label == "Object##{method}" } }
    end
    STRING = /\A(rb_)?str_/
    STRING_GROWS = /\Astr_buf_cat/
    ARRAY = /\A(rb_)?ary_/
    # allocated, freed and alive
    def objects(method, by = STRING, rows = malloc_rows)
      rows = rows_of(method, by, rows)
      [rows.sum { |row| row.alloc.objects }, rows.sum { |row| row.freed.objects }, rows.sum { |row| row.inuse.objects }].map(&:round)
    end
    def bytes(method, by = STRING, rows = malloc_rows)
      rows = rows_of(method, by, rows)
      [rows.sum { |row| row.alloc.space }, rows.sum { |row| row.freed.space }, rows.sum { |row| row.inuse.space }].map(&:round)
    end
    # The sum of what was allocated there against the truth: six standard deviations of what the profile says of itself.
    def assert_allocations(truth, method, rows = malloc_rows, by = STRING)
      rows = rows_of(method, by, rows)
      sum = rows.sum { |row| row.alloc.space }
      error = 6 * Math.sqrt(rows.sum { |row| row.alloc.variance })
      assert_in_delta truth, sum, error + truth * 0.001, "#{method}: #{rows.sum { |row| row.alloc.samples }} samples"
      rows.sum { |row| row.alloc.samples }
    end
    def make(count, size = 98_000) = Array.new(count) { "x" * size }        # 98,304 bytes, with pages of 4 and of 64 KiB
  RUBY

  def setup
    omit "no jemalloc with a profiler" unless jemalloc?
  end

  def jemalloc?
    @@jemalloc ||= IO.popen([RbConfig.ruby, "--disable=gems", "--heap-sample=output=none",
                             "-e", "print GC::SampleProfile.stat[:malloc]"], &:read)
    @@jemalloc == "on"
  end

  def assert_malloc(script, settings = "malloc=4k", args: [], timeout: 120, **options)
    assert_separately(["-W0", "--disable=gems", "--heap-sample=output=none,#{settings}", *args], HELPERS + script,
                      timeout: timeout, **options)
  end

  def test_allocations_and_frees
    assert_malloc(<<~'RUBY')
      kept = make(100)
      dropped = make(50)
      assert_equal [150, 0, 150], objects(:make)
      assert_equal [150 * 98_304, 0, 150 * 98_304], bytes(:make)
      dropped.each(&:clear)                     # frees at once
      assert_equal [150, 50, 100], objects(:make)
      assert_equal [150 * 98_304, 50 * 98_304, 100 * 98_304], bytes(:make)
      60.times { kept.pop }
      GC.start
      assert_include 108..110, objects(:make)[1]        # a reference may be left on the stack
      assert_equal 150, objects(:make).then { |_allocated, freed, alive| freed + alive }
    RUBY
  end

  # What realloc(3) moved was allocated once more, and freed once more.
  def test_growing_and_shrinking
    assert_malloc(<<~'RUBY', "malloc=1,max-samples=none,interval=1g")
      def grow(text) = 3000.times { text << "0123456789" * 100 }
      def push(list) = 200_000.times { list << 1 }
      def pop(list) = list.pop(199_000)

      GC.disable
      text, list = +"", []
      grow(text)
      rows = malloc_rows                # each reading is sampled, too: as few as can be
      allocated, freed, alive = objects(:grow, STRING_GROWS, rows)
      assert_equal [1, allocated - 1], [alive, freed]
      assert_operator allocated, :>, 5
      assert_include 3_000_000..6_200_000, bytes(:grow, STRING_GROWS, rows)[2]
      push(list)
      text.clear
      rows = malloc_rows
      allocated, freed, alive = objects(:push, ARRAY, rows)
      assert_equal [1, allocated - 1], [alive, freed]
      assert_include 1_600_000..3_300_000, bytes(:push, ARRAY, rows)[2]
      allocated, freed, alive = objects(:grow, STRING_GROWS, rows)
      assert_equal [allocated, 0], [freed, alive]
      allocated, freed, = bytes(:grow, STRING_GROWS, rows)
      assert_equal allocated, freed
      text = "x" * 3_000_000
      text.replace("short")
      # All that is known adds up: what was allocated and not freed is live, to the byte.
      rows = malloc_rows
      [[:objects, 1], [:space, 1 << 10]].each do |figure, delta|
        allocated, freed, alive = %i[alloc freed inuse].map { |kind| rows.sum { |row| row.public_send(kind).public_send(figure) } }
        assert_in_delta allocated - freed, alive, delta, figure.to_s
      end
      assert_equal 0, stat(:malloc_samples_dropped)
    RUBY
  end

  def test_lifetimes
    assert_malloc(<<~'RUBY')
      GC.disable
      ages = { 0 => make(30), 3 => make(40) }
      ages[0].each(&:clear)
      3.times { GC.start }
      ages[3].each(&:clear)
      rows = rows_of(:make, STRING, malloc_rows)
      assert_equal 70, rows.sum { |row| row.freed.objects }.round
      assert_in_delta 3 * 40, rows.sum { |row| row[:freed_gcs] }, 0.01
      before = GC.count
      old = make(10)
      GC.start
      young = make(20)
      rows = rows_of(:make, STRING, malloc_rows).select { |row| row.inuse.objects.positive? }
      assert_equal({ before => 10, before + 1 => 20 },
                   rows.group_by(&:allocation_gc).transform_values { |list| list.sum { |row| row.inuse.objects }.round })
    RUBY
  end

  def test_freed_on_another_thread
    assert_malloc(<<~'RUBY')
      queue = Thread::Queue.new
      freers = Array.new(3) { Thread.new { while (text = queue.pop) do text.clear end } }
      makers = Array.new(3) { Thread.new { 20.times { make(10).each { |text| queue << text } } } }
      makers.each(&:join)
      queue.close
      freers.each(&:join)
      assert_equal [600, 600, 0], objects(:make)
      kept = Thread.new { make(20) }.value
      assert_equal [620, 600, 20], objects(:make)
      threads = rows_of(:make, STRING, malloc_rows).select { |row| row.inuse.objects.positive? }.map(&:thread).uniq
      assert_equal 1, threads.size
      assert_operator threads[0], :>, 1
    RUBY
  end

  # Child and parent each have their own blocks from then on.
  def test_fork
    assert_malloc(<<~'RUBY')
      kept = make(50)
      gone = make(30)
      printed = IO.popen("-") do |child|
        next child.read if child
        gone.each(&:clear)
        more = make(25)
        print objects(:make)
        $stdout.flush
        exit!
      end
      assert_equal "[105, 30, 75]", printed
      assert_equal [80, 0, 80], objects(:make)
      kept.each(&:clear)
      assert_equal [80, 50, 30], objects(:make)
    RUBY
  end

  # Code is freed, files are loaded, all is compacted: the allocated and freed memory of a line stays.
  def test_totals_stay_when_code_dies_or_moves
    # At 4 KiB the harness itself has so many stacks that some are folded, and samples may find no room.
    assert_malloc(<<~'RUBY', "malloc=64k")
      RING = ring = Array.new(20)
      def turn(count) = count.times { |i| RING[i % 20] = "x" * 2_000_000 }
      turned = 0
      check = lambda do |what|
        ring.each_index { |i| ring[i] = nil }
        GC.start
        now = objects(:turn)
        assert_equal turned, now[0], what
        assert_include [turned - 1, turned], now[1], what
      end
      turn(600)
      turned += 600
      check.call("first")
      changes = {
        "methods are removed" => -> { 20.times { |i| eval("def gone#{i} = Array.new(50) { 'y' * 3000 }; gone#{i}; Object.send(:remove_method, :gone#{i})") } },
        "a file is loaded" => lambda do
          Tempfile.create(["lazy", ".rb"]) do |file|
            file.write("module LazyPart\n" + (0..60).map { |i| "  LIST#{i} = Array.new(100) { 'y' * 3000 }\n" }.join + "end\n")
            file.flush
            load file.path
          end
        end,
        "all moves" => -> { GC.respond_to?(:compact) && GC.compact },
        "ISeqs are freed" => -> { 300.times { |i| eval("proc { 'z' * 700 }").call } },
      }
      require "tempfile"
      changes.each do |what, change|
        change.call
        GC.start
        turn(600)
        turned += 600
        check.call(what)
      end
    RUBY
  end

  def test_totals_begin_anew_with_each_start
    assert_malloc(<<~'RUBY', "malloc=4k")
      kept = make(30)
      make(100).each(&:clear)
      assert_equal [130, 100, 30], objects(:make)
      GC::SampleProfile.stop
      make(50).each(&:clear)
      GC::SampleProfile.start
      assert_equal [0, 0, 0], objects(:make)
      kept.each(&:clear)                        # allocated before: no free is reported
      later = make(7)
      assert_equal [7, 0, 7], objects(:make)
    RUBY
  end

  # -- blocks ------------------------------------------------------------------------

  def test_a_block_has_its_malloc
    assert_malloc(<<~'RUBY', "malloc=1m")
      kept = nil
      profile = GC.sample_profile(interval: 1024) { kept = make(40); make(25).each(&:clear) }
      assert_equal [65, 25, 40], objects(:make, STRING, malloc_rows(profile))
      assert_equal 1024, profile.to_profile.info.malloc_interval
      # however small
      profile = GC.sample_profile(interval: 1) { kept = make(1, 1000) }
      assert_equal [1, 0, 1], objects(:make, STRING, malloc_rows(profile))
      assert_equal [1024, 0, 1024], bytes(:make, STRING, malloc_rows(profile))
      # what was allocated before it is none of its, freed or live
      before = make(10)
      profile = GC.sample_profile(interval: 1024) { before.each(&:clear); kept = make(3) }
      assert_equal [3, 0, 3], objects(:make, STRING, malloc_rows(profile))
      # and it takes nothing of the session beside it
      assert_equal [1_048_576, 1], [stat(:malloc_interval), stat(:sessions)]
    RUBY
  end

  def test_a_block_is_of_its_thread
    assert_malloc(<<~'RUBY', "malloc=1m")
      def others(count) = Array.new(count) { "x" * 100_000 }
      run = lambda do |**options|
        GC.sample_profile(interval: 1024, **options) do
          kept = make(20)
          Thread.new { others(30) }.join
          kept
        end
      end
      rows = malloc_rows(run.call)
      assert_equal [20, 0], [objects(:make, STRING, rows)[0], objects(:others, STRING, rows)[0]]
      rows = malloc_rows(run.call(threads: :all))
      assert_equal [20, 30], [objects(:make, STRING, rows)[0], objects(:others, STRING, rows)[0]]
    RUBY
  end

  def test_nested_blocks_and_a_session_beside_them
    assert_malloc(<<~'RUBY', "malloc=100000")
      def inside(count) = Array.new(count) { "x" * 3_000 }      # 3,072 bytes
      inner = nil
      outer = GC.sample_profile(interval: 20_000, threads: :all) do
        make(500, 20_000).each(&:clear)
        inner = GC.sample_profile(interval: 500) { inside(4000) }
        make(500, 20_000).each(&:clear)
      end
      assert_allocations(4000 * 3072, :inside, malloc_rows(inner)).then { |samples| assert_operator samples, :>, 3900 }
      assert_equal 0, objects(:make, STRING, malloc_rows(inner))[0]
      assert_allocations(4000 * 3072, :inside, malloc_rows(outer)).then { |samples| assert_include 450..700, samples }
      assert_allocations(1000 * 20_480, :make, malloc_rows(outer))
      assert_allocations(4000 * 3072, :inside).then { |samples| assert_include 60..190, samples }
      assert_allocations(1000 * 20_480, :make)
      assert_equal [20_000, 500, 100_000], [outer, inner, GC.sample_profile].map { |profile| profile.to_profile.info.malloc_interval }
    RUBY
  end

  # -- intervals ---------------------------------------------------------------------

  # That many samples are taken as the interval says, not as the power of two below it does.
  def test_any_interval
    [3000, 50_000, 100_000, 196_608].each do |interval|
      assert_malloc(<<~RUBY, "malloc=#{interval}")
        40.times { make(250, 10_000).each(&:clear) }            # 10,240 bytes
        samples = assert_allocations(10_000 * 10_240, :make)
        expected = 10_000 * (1 - Math.exp(-10_240.0 / #{interval}))
        assert_in_delta expected, samples, 6 * Math.sqrt(expected)
        assert_equal #{interval}, stat(:malloc_interval)
      RUBY
    end
  end

  def test_intervals_change_while_it_runs
    assert_malloc(<<~'RUBY', "malloc=65536")
      truth = variance = 0
      kept = []
      [4096, 1_000_000, 3000, 65_536, 700, 200_000].each do |interval|
        assert_equal false, GC::SampleProfile.start(malloc: interval)
        assert_equal interval, stat(:malloc_interval)
        20.times { make(100, 6_000).each(&:clear) }             # 6,144 bytes
        kept << make(500, 6_000)
        truth += 2500 * 6144
        # of one block: known, as few or none of them may be samples
        variance += 6144**2 * (1 / (1 - Math.exp(-6144.0 / interval)) - 1)
        rows = rows_of(:make, STRING, malloc_rows)
        alive, freed = rows.sum { |row| row.inuse.space }, rows.sum { |row| row.freed.space }
        # Seven standard deviations, since of those alive three samples or so are expected at the longest: eleven too many
        # are as rare as six deviations elsewhere.
        assert_in_delta truth, rows.sum { |row| row.alloc.space }, 7 * Math.sqrt(2500 * variance)
        assert_in_delta kept.sum(&:size) * 6144, alive, 7 * Math.sqrt(500 * variance)
        assert_in_delta rows.sum { |row| row.alloc.space }, alive + freed, truth * 1e-6 + 1
      end
    RUBY
  end

  # Threads start while one interval is in force and idle through others. Then they work. A sample is weighted by the
  # interval at which it was drawn.
  def test_threads_that_idle_while_intervals_change
    {
      "malloc=512k" => %w[4k],
      "malloc=4k" => %w[512k],
      "malloc=1m" => %w[4k 64k],
      "off,malloc=standby" => %w[4k],
      "malloc=8k" => %w[stop 128k],
    }.each do |settings, intervals|
      assert_malloc(<<~RUBY, "interval=1g,#{settings}")
        def work = Array.new(80) { "x" * 3_000 }                # 3,072 bytes
        go = Queue.new
        threads = Array.new(200) { Thread.new { go.pop; work } }
        Thread.pass until go.num_waiting == 200
        #{intervals}.each do |interval|
          next GC::SampleProfile.stop if interval == "stop"
          GC::SampleProfile.start(interval: "1g", malloc: interval, output: "none")
        end
        200.times { go << true }
        kept = threads.map(&:value)
        assert_allocations(200 * 80 * 3072, :work)
      RUBY
    end
  end

  # A change reaches each thread at its next malloc or free, and a thread may end before that.
  def test_threads_end_while_intervals_change
    assert_malloc(<<~'RUBY', "interval=1g,malloc=64k")
      def work = Array.new(20) { "x" * 3_000 }
      stop = false
      kept = Queue.new
      threads = 3.times.map do
        Thread.new { Array.new(20) { |i| Thread.new { i.even? ? kept << work : sleep(0.001) } }.each(&:join) until stop }
      end
      200.times do |i|
        GC::SampleProfile.start(malloc: %w[4k 64k 8k][i % 3])
        sleep 0.001
      end
      stop = true
      threads.each(&:join)
      assert_allocations(kept.size * 20 * 3072, :work)
    RUBY
  end

  # At intervals of few bytes, too, a block is sampled with the probability that it is weighted by.
  def test_short_intervals
    omit "no fiddle" if $LOAD_PATH.resolve_feature_path("fiddle.so").nil?
    [16, 50, 128].each do |interval|
      assert_malloc(<<~RUBY, "malloc=1m")
        require "fiddle"
        profile = GC.sample_profile(interval: #{interval}) { 400_000.times { Fiddle.free(Fiddle.malloc(8)) } }
        rows = malloc_rows(profile).select { |row| row.stack.any? { |frame| frame.label == "Fiddle.malloc" } }
        samples, sum, variance = %i[samples space variance].map { |value| rows.sum { |row| row.alloc.public_send(value) } }
        assert_in_delta 400_000 * 8, sum, 6 * Math.sqrt(variance), "\#{samples} samples"
      RUBY
    end
  end

  # -- places ------------------------------------------------------------------------

  def test_the_compiler_is_one_row
    omit "no YJIT" unless RbConfig::CONFIG["YJIT_SUPPORT"] == "yes"
    assert_malloc(<<~'RUBY', "malloc=512", args: ["--yjit", "--yjit-call-threshold=1"])
      eval(Array.new(1000) { |i| "def made_#{i}(a) = [a, a + 1, { a => #{i} }].map { |b| b.to_s }" }.join("\n"))
      1000.times { |i| send(:"made_#{i}", i) }
      before = RubyVM::YJIT.runtime_stats(:yjit_alloc_size)
      yjit = malloc_rows.select { |row| row.stack.map(&:label) == ["(YJIT)"] }
      after = RubyVM::YJIT.runtime_stats(:yjit_alloc_size)
      assert_equal 1, yjit.size
      row = yjit[0]
      # what YJIT says of itself, to the byte
      assert_include before..after, row.inuse.space
      assert_operator row.alloc.space, :>, 20 << 20
      assert_equal [0, 0, 0], [row.inuse, row.alloc, row.freed].map(&:variance)
      assert_in_delta row.alloc.space - row.inuse.space, row.freed.space, 1
      # and no stack but that has a frame of it; a sweep that frees code does not compile
      others = malloc_rows.flat_map { |row| row.stack.map(&:label) }.grep(/yjit::(codegen|core|backend)/).grep_v(/::(free_block|remove_from_graph)/)
      assert_empty others
    RUBY
  end

  # Memory that was never written to is live, and not resident.
  def test_untouched_memory
    assert_malloc(<<~'RUBY', "malloc=64k")
      def reserve = String.new(capacity: 100 << 20)
      def wait_for_ever = Array.new(300) { Thread.new { sleep } }
      def fill = "x" * (20 << 20)
      kept = [reserve, wait_for_ever, fill]
      Thread.pass until kept[1].all?(&:stop?)
      sum = lambda do |method|
        rows = malloc_rows.select { |row| row.stack.any? { |frame| frame.label == "Object##{method}" } }
        [rows.sum { |row| row.inuse.space }, rows.sum { |row| row[:resident] }].map { |bytes| bytes / 1048576.0 }
      end
      used, resident = sum[:reserve]
      assert_in_delta 100, used, 1
      assert_operator resident, :<, 1
      # Stacks of threads are none of malloc's: the account has them.
      assert_operator sum[:wait_for_ever][0], :<, 10
      assert_in_delta 20, sum[:fill][0], 1
      assert_in_delta 20, sum[:fill][1], 1
      # No report says more than the process has.
      profile = GC.sample_profile
      rss = GC::SampleProfile.memory.then { |memory| memory[:rss] || memory.dig(:process, :rss) }
      assert_operator malloc_rows(profile).sum { |row| row[:resident] }, :<, rss
      live = profile.report.to_s[/^Live memory.*?:.*?objects/m]
      assert_match(/resident/, live)
    RUBY
  end

  # What is freed before it is named leaves nothing; what was named is folded.
  def test_many_stacks_that_die_leave_little
    assert_malloc(<<~'RUBY', "malloc=1k,interval=1g", timeout: 300)
      most = 0
      churn = proc { make(1, 200_000)[0].clear }
      100.times do |round|
        5.times(&churn)
        eval(Array.new(1000) { |i| "def made_#{round}_#{i} = 'x' * 20_000" }.join("\n"))
        1000.times { |i| send("made_#{round}_#{i}").clear }
        1000.times { |i| Object.send(:remove_method, "made_#{round}_#{i}") }
        most = [most, stat(:bytes_malloc)].max
      end
      assert_equal 0, stat(:malloc_samples_dropped)
      assert_operator most, :<, 4 << 20
      GC.start
      GC.sample_profile
      rows = malloc_rows
      assert_operator stat(:malloc_stacks), :<, 12_000
      # 100,000 blocks were allocated and freed, whatever is left of where: the code's own are more.
      freed = rows.sum { |row| row.freed.space }
      assert_operator freed, :>, 100_000 * 20_480
      # A line that allocates again and again is known by name, however many came in between: but for a sample that met a
      # moment without room for its frames.
      allocations, frees, living = objects(:make)
      assert_include 490..500, allocations
      assert_equal [allocations, 0], [frees, living]
    RUBY
  end
end
