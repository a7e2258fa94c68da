# frozen_string_literal: false
require 'test/unit'

# The list of major GCs in a profile: exact counts of what each left alive. And why a profile was taken.
class TestHeapSamplerMajors < Test::Unit::TestCase
  HELPERS = <<~'RUBY'
    Warning[:experimental] = false
    def info = GC.sample_profile(full_gc: false).to_profile.info
    def majors = info.majors
    SIZES = Array.new(GC::INTERNAL_CONSTANTS[:HEAP_COUNT]) { |heap| GC.stat_heap(heap, :slot_size) }
    LIVE = SIZES.map { 0 }
    # Bytes of the live slots now, by heap, as MRI counts them. It allocates nothing.
    def count_live
      heap = 0
      while heap < SIZES.size
        LIVE[heap] = (GC.stat_heap(heap, :total_allocated_objects) - GC.stat_heap(heap, :total_freed_objects)) * SIZES[heap]
        heap += 1
      end
    end
    # What GC.start itself, or a finalizer, allocates after the marking.
    def assert_alive(major, live = LIVE)
      major.pools.zip(live, SIZES) { |got, bytes, size| assert_in_delta bytes, got, 4 * size, [major, live].inspect }
    end
    GC.start
    count_live
    majors
  RUBY

  def assert_sampled(script, settings: "interval=4k,output=none", timeout: 240)
    assert_separately(["-W0", "--disable=gems", "--heap-sample=#{settings}"], "#{HELPERS}\n#{script}", timeout: timeout)
  end

  def test_slots_are_exact_after_a_full_gc
    assert_sampled(<<~'RUBY')
      kept = []
      truth = 12.times.map do
        kept.concat(Array.new(rand(20_000)) { ["x" * rand(600), Object.new, [1] * rand(60)].sample })
        kept = kept.sample(kept.size / 3) if rand < 0.3
        GC.start
        count_live
        [GC.count, LIVE.dup, GC.stat(:total_allocated_objects)]
      end
      by_gc = majors.to_h { |major| [major.gc, major] }
      truth.each do |gc, live, objects|
        assert_alive(by_gc.fetch(gc), live)
        assert_in_delta objects, by_gc.fetch(gc).objects, 50
      end
      assert_in_delta GC.stat(:total_allocated_objects), info.objects, 20_000
      assert_equal majors.last.pools.sum, majors.last.slots
    RUBY
  end

  # objspace counts the objects themselves.
  def test_slots_are_what_object_space_counts
    assert_sampled(<<~'RUBY')
      require "objspace"
      kept = Array.new(50_000) { Object.new }
      counts = {}
      ObjectSpace.count_objects(counts)
      GC.start
      ObjectSpace.count_objects(counts)
      alive = counts[:TOTAL] - counts[:FREE]
      last = majors.last
      assert_in_delta alive, last.pools.zip(SIZES).sum { |bytes, size| bytes / size }, 20
    RUBY
  end

  # The same objects live, whatever is swept and moved.
  def test_slots_are_exact_while_the_sweep_is_lazy_the_mark_incremental_and_objects_move
    assert_sampled(<<~'RUBY')
      kept = Array.new(100_000) { Object.new }
      ways = {
        lazy: -> { GC.start(immediate_sweep: false) },
        incremental: -> do
          GC.start(immediate_mark: false, immediate_sweep: false)
          200_000.times { Object.new } while GC.latest_gc_info(:state) == :marking
        end,
        compact: -> { GC.compact },
        auto_compact: -> { GC.auto_compact = true; GC.start; GC.auto_compact = false },
        after: -> { GC.start }
      }
      ways.each do |name, collect|
        GC.start
        count_live
        before = GC.count
        100_000.times { Object.new }
        collect.call
        known = majors
        last = known.find { |major| major.gc > before }
        assert_not_nil last, name
        last.pools.zip(LIVE, SIZES) { |got, bytes, size| assert_in_delta bytes, got, 300 * size, [name, last, LIVE].inspect }
        # Objects that move are not allocated.
        assert_operator last.objects - known.reverse.find { |major| major.gc <= before }.objects, :<, 900_000, name
        if name == :lazy && GC.latest_gc_info(:state) == :sweeping
          assert_nil known.last.malloc
        end
      end
    RUBY
  end

  def test_malloc_is_what_is_allocated_touched_or_not
    omit "needs jemalloc" if GC::SampleProfile.memory[:malloc_metadata].to_i.zero?
    assert_sampled(<<~'RUBY')
      def malloc
        last = nil
        200.times do
          GC.start
          last = majors.last
          break if last.malloc
          sleep 0.05
        end
        last.malloc
      end
      mib = 1 << 20
      before = malloc
      buffer = String.new(capacity: (64 << 20) - 1)
      assert_in_delta before + 64 * mib, malloc, mib
      buffer.clear
      buffer = nil
      assert_in_delta before, malloc, mib
    RUBY
  end

  def test_the_older_ones_are_thinned_evenly
    assert_sampled(<<~'RUBY')
      truth = majors.map(&:gc)
      700.times do |i|
        GC.start
        truth << GC.count
        next unless [50, 127, 128, 129, 160, 300, 699].include?(i)
        list = majors.map(&:gc)
        assert_operator list.size, :<=, 128
        assert_equal truth.last(32), list.last(32)
        assert_equal truth.first, list.first
        older = list[0...-32].map { |gc| truth.index(gc) }
        steps = older.each_cons(2).map { |one, other| other - one }.uniq
        assert_operator steps.size, :<=, 1, older.inspect
        step = steps.first || 1
        assert_equal 0, step & (step - 1)
        assert_equal 0, older.first
        assert_operator truth.size - 32 - older.last, :<=, step
        assert_operator list.size, :>=, 80 if truth.size >= 80
        assert_equal truth.size, list.size if truth.size <= 128
      end
      all = majors
      assert_equal all.map(&:objects), all.map(&:objects).sort
      assert_equal all.map(&:time), all.map(&:time).sort
    RUBY
  end

  # A hook of the GC sees the GCs of all Ractors.
  def test_ractors
    assert_sampled(<<~'RUBY')
      before = majors.map(&:gc)
      counts = Array.new(3) do
        Ractor.new do
          5.times.map do
            kept = Array.new(10_000) { Object.new }
            GC.start
            GC.count.then { |count| kept && count }
          end
        end
      end.flat_map(&:take)
      assert_operator counts.uniq.size, :>=, 5
      list = majors
      assert_equal [], before - list.map(&:gc)
      assert_equal info.gc_major, list.size
      # Of three Ractors two may hold 10,000 objects more.
      known = list.reject { |major| before.include?(major.gc) }
      assert_operator known.map { |major| major.pools.first }.max, :>=, list.first.pools.first + 10_000 * SIZES.first
      GC.start
      alive = ObjectSpace.count_objects.then { |all| all[:TOTAL] - all[:FREE] }
      assert_in_delta alive, majors.last.pools.zip(SIZES).sum { |bytes, size| bytes / size }, 50
    RUBY
  end

  def test_a_child_continues_the_list_of_its_parent
    assert_sampled(<<~'RUBY')
      3.times { GC.start }
      sleep 0.01
      parent = majors.map(&:gc)
      reading, writing = IO.pipe
      pid = fork do
        sleep 0.01
        2.times { GC.start }
        mine = info
        own, others = mine.majors.partition { |major| major.time > mine.began }
        writing.puts [others.map(&:gc), own.size, own.map { |major| major.gc > parent.last }.uniq, mine.began <= mine.taken].inspect
        exit!(0)
      end
      writing.close
      assert_equal "#{[parent, 2, [true], true].inspect}\n", reading.read
      Process.wait(pid)
      assert_equal parent, majors.map(&:gc)
    RUBY
  end

  # There are none before sampling or standby.
  def test_the_list_begins_with_sampling
    assert_separately(["-W0", "--disable=gems"], <<~'RUBY')
      GC.start
      count = GC.count
      GC::SampleProfile.start(interval: 4096)
      GC.start
      assert_operator GC.sample_profile(full_gc: false).to_profile.info.majors.map(&:gc).min, :>, count
    RUBY
    assert_separately(["-W0", "--disable=gems", "--heap-sample=standby"], <<~'RUBY')
      3.times { GC.start }
      count = GC.count
      kept = Array.new(10_000) { Object.new }
      GC.start
      GC::SampleProfile.start(interval: 4096)
      list = GC.sample_profile(full_gc: false).to_profile.info.majors
      assert_operator list.size, :>=, 4
      assert_operator list.last.pools.first - list[-2].pools.first, :>=, 400_000
    RUBY
  end

  def test_the_reason_of_a_profile
    Dir.mktmpdir do |dir|
      settings = "every=1,at-rss=4m,interval=64k,malloc=off,quiet,output=#{dir}/%t-%p.pb.gz"
      assert_separately([{ "DIR" => dir }, "-W0", "--disable=gems", "--heap-sample=#{settings}"], <<~'RUBY', timeout: 240)
        require "heapsample"
        assert_equal "asked", GC.sample_profile.to_profile.info.reason
        assert_equal "asked", GC.sample_profile { Object.new }.to_profile.info.reason
        reading, writing = IO.pipe
        parent = $$
        pid = fork do
          process = HeapSample::LiveProcess.new(parent)
          agent = HeapSample::Profile.load(StringIO.new(process.bytes("profile", for: "agent")), name: "agent")
          wrong = process.bytes("profile", for: "me") rescue $!.message
          writing.puts [process.profile.info.reason, agent.info.reason, wrong[/for must be agent/]].inspect
          exit!(0)
        end
        writing.close
        assert_equal %w[asked agent].push("for must be agent").inspect, reading.read.chomp
        Process.wait(pid)
        1200.times { Dir["#{ENV["DIR"]}/*-#{$$}.pb.gz"].any? && Dir["#{ENV["DIR"]}/*-at-rss*"].any? ? break : sleep(0.1) }
        sleep 1.1       # the profile at exit has another name then
      RUBY
      require "heapsample"
      reasons = Dir["#{dir}/*.pb.gz"].sort.to_h { |file| [file, HeapSample::Profile.load(file).info.reason] }
      rss, others = reasons.partition { |file, _| file.include?("-at-rss") }
      assert_equal ["at_rss"], rss.map(&:last).uniq       # on a busy machine the child writes one, too
      assert_equal %w[exit periodic], others.map(&:last).uniq.sort
      assert_equal "exit", others.last.last
    end
  end

  # A program that disables GC has no points; its profiles have the reason. So has one that only waits.
  def test_a_process_without_majors_has_the_reason
    [["50%", "GC.disable", :refused], ["off", "GC.config(rgengc_allow_full_mark: false)", :refused], ["50%", "GC.enable", :no_safe_point]].each do |share, first, why|
      Dir.mktmpdir do |dir|
        settings = "every=1,diagnose=#{share},interval=64k,malloc=off,quiet,output=#{dir}/%t-%p.pb.gz"
        assert_separately(["-W0", "--disable=gems", "--heap-sample=#{settings}"], <<~RUBY, timeout: 240)
          GC.start
          #{first}
          # Until this process has written four profiles from here on, or for two minutes.
          own = "#{dir}/*-\#{Process.pid}.pb.gz"
          before = Dir[own].size
          child = fork { 1200.times { Dir[own].size >= before + 4 ? break : sleep(0.1) }; exit!(0) }
          $leak = []
          #{why == :refused ? "($leak << Object.new; sleep 0.001) until Process.wait(child, Process::WNOHANG)" : "Process.wait(child)"}
        RUBY
        require "heapsample"
        infos = Dir["#{dir}/*.pb.gz"].sort.map { |file| HeapSample::Profile.load(file).info }.select { |info| info.parent_id == $$ && info.reason == "periodic" }
        assert_operator infos.map { |info| info.forced.last }.count(why), :>=, 2, infos.map { |info| info.forced.last }.inspect
        # On a busy machine the first profile may be made before the program begins to wait.
        assert_equal 1, infos.select { |info| info.forced.last == why }.map { |info| info.majors.last&.gc }.uniq.size
      end
    end
  end
end
