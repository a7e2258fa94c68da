# frozen_string_literal: false
require 'test/unit'

# When GCs were, and the work that the sampler forces: GCs and heap walks.
class TestHeapSamplerGCs < Test::Unit::TestCase
  def assert_sampled(script, settings: "interval=1k,output=none", timeout: 120)
    assert_separately(["-W0", "--disable=gems", "--heap-sample=#{settings}"], script, timeout: timeout)
  end

  def test_an_allocation_has_its_time
    assert_sampled(<<~'RUBY')
      class Marked; end
      truth = {}
      keep = 12.times.map do
        rand(4).times { GC.start(full_mark: false) }
        GC.start if rand < 0.3
        from = Time.now
        objects = Array.new(2000) { Marked.new }
        truth[GC.count] = [from, Time.now]
        sleep 0.01
        objects
      end
      profile = GC.sample_profile.to_profile
      info, times = profile.info, profile.info.gc_times
      assert_equal [1, info.gc_count, info.gc_major], [times.first.gc, times.to_a.last.gc, times.to_a.last.majors]
      allocations = profile.rows.select { |row| row.class_name == "Marked" && row.allocation_gc }.map(&:allocation_gc).uniq
      known = allocations & truth.keys
      assert_operator known.size, :>=, 3
      known.each do |gc|
        earliest, latest = times.allocated_at(gc)
        from, to = truth[gc]
        assert_operator earliest - 0.002, :<=, to, gc
        assert_operator latest + 0.002, :>=, from, gc if latest
        assert_operator latest - earliest, :<, 60 if latest
      end
    RUBY
  end

  # GC.count went up by one at each of them.
  def test_many_gcs_are_thinned_and_a_child_knows_those_of_its_parent
    assert_sampled(<<~'RUBY')
      1000.times { GC.start(full_mark: false) }
      check = lambda do
        info = GC.sample_profile.to_profile.info
        times = info.gc_times.to_a
        assert_operator times.size, :<=, 384
        assert_equal 1, times.first.gc
        assert_equal [*info.gc_count - 127..info.gc_count], times.last(128).map(&:gc)
        assert_equal times.map(&:gc), times.map(&:gc).uniq.sort
        assert_equal times.map(&:time), times.map(&:time).sort
        assert_in_delta Time.now.to_f, times.last.time.to_f, 60
      end
      check.call
      pid = fork do
        GC.start
        check.call
        exit!(0)
      rescue Exception
        exit!(1)
      end
      assert_predicate Process.wait2(pid)[1], :success?
    RUBY
  end

  # The forced work of a program that writes a profile each second, after each new profile: [majors so far, its
  # forced]. It goes on until the block is content, and for five minutes at most.
  PROFILES = <<~'RUBY'
    require "heapsample"
    Warning[:experimental] = false

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    def files = Dir["#{DIR}/*-#{$$}.pb.gz"].sort
    def infos = files.map { |file| HeapSample::Profile.load(file).info }
    def work_until(enough = -> { $enough.call(infos) })
      deadline = now + 300
      seen = look = 0
      until now > deadline
        2000.times { yield }
        sleep 0.002
        next if now < look
        look = now + 0.1      # each look leaves garbage
        next if files.size == seen
        seen = files.size
        return if enough.call
      end
      flunk "not within five minutes: #{infos.map { |info| [info.gc_major, info.forced.to_a] }}"
    end
    # No GC comes by itself: none of these writes a single object that is freed.
    def leak = ($leak ||= []) << Object.new
  RUBY

  def assert_with_profiles(script, settings: "diagnose=50%")
    Dir.mktmpdir do |dir|
      every = "every=1,interval=64k,malloc=off,quiet,output=#{dir}/%t-%p.pb.gz,#{settings}"
      env = { "RUBY_GC_HEAP_GROWTH_FACTOR" => "4" }
      assert_separately([env, "-W0", "--disable=gems", "--heap-sample=#{every}"], "DIR = #{dir.dump}\n#{PROFILES}\n#{script}", timeout: 360)
    end
  end

  def test_the_profile_has_the_gc_count_of_the_last_major_gc
    assert_separately(%w[-W0 --disable=gems], <<~'RUBY')
      GC::SampleProfile.start(interval: 1024)
      GC.start
      # A GC that was to be minor may become a major one.
      infos = 20.times.lazy.map do
        GC.start
        major = GC.count
        2.times { GC.start(full_mark: false) }
        [major, GC.stat(:major_gc_count), GC.sample_profile(full_gc: false).to_profile.info]
      end
      major, _, info = infos.find { |found, majors, one| one.gc_major == majors && one.gc_count == found + 2 && one.last_minor && one.last_minor > one.last_major }
      assert_not_nil info
      assert_equal major, info.last_major_gc
      assert info.awaits_major?(major) && info.awaits_major?(major + 1) && !info.awaits_major?(major - 1) && !info.awaits_major?(nil)
    RUBY
  end

  def test_a_heap_that_grows_has_a_major_before_each_profile
    assert_with_profiles(<<~'RUBY')
      # On a busy machine a profile may be due before marking could begin or end: that one says so, and does not count.
      marked = ->(infos) { infos.each_cons(2).select { |_, info| %i[ended not_needed].include?(info.forced.last) } }
      $enough = ->(infos) { marked[infos].size >= 5 && infos.any? { |info| info.forced.last == :ended } }
      work_until { leak if rand < 0.02 }       # a heap that grows fast is soon too dear, in check builds
      all = infos
      last = all.drop(1).map { |info| info.forced.last }
      assert_empty last - %i[ended not_needed unfinished no_safe_point over_budget]
      # Where other programs run, a GC has a higher price.
      assert_operator last.count(:over_budget), :<=, marked[all].size + 3
      # What the profile says is in use, a mark has looked at that ended since the one before; it may have begun earlier.
      pairs = marked[all]
      assert_operator all.last.gc_major - all.first.gc_major, :>=, pairs.size / 2
      pairs.each do |before, info|
        assert_operator info.gc_major, :>=, before.gc_major
        assert_operator info.taken - info.last_major, :<, 2 * (info.taken - before.taken) + 0.5
      end
      forced = all.last.forced
      assert_operator forced.gc_seconds, :>, 0
      assert_operator forced.longest_stop, :>, 0
      assert_operator forced.share, :<=, 0.6         # the price of a walk is known when it is over
      assert_operator all.last.gc_major, :>=, forced.gcs
    RUBY
  end

  # A child that was waited for has had page faults: cminflt of proc(5).
  COUNTED = <<~'RUBY'
    def forks = File.read("/proc/self/stat").split(") ").last.split[8].to_i
    GC.start
    began, count = infos.size, GC.count
    deadline = now + 120
    300_000.times {} until infos_are_there(began) || now > deadline
    gcs, forked, all = GC.count - count, forks, infos
  RUBY

  def test_a_process_that_only_writes_profiles_runs_no_gc_and_forks_no_walk
    there = "def infos_are_there(began) = Dir.children(DIR).size >= began + 4"
    ["keep=90", "diagnose=off"].each do |settings|
      assert_with_profiles(<<~RUBY, settings: settings)
        #{there}
        #{COUNTED}
        assert_equal [0, 0], [gcs, forked]
        assert_equal [[0.0, 0, 0, 0.0]], all.map { |info| info.forced.then { |work| [work.limit, work.gcs, work.walks, work.longest_stop] } }.uniq
        assert_equal [nil], all.map(&:walk).uniq
      RUBY
    end
  end

  # The same process, and the same count of both, with a share.
  def test_with_a_share_it_runs_gcs_and_forks_walks
    # A GC may have been forced before: one is wanted that the profile after next, or a later one, has.
    there = "def infos_are_there(began) = infos.then { |all| all.size > began + 1 && all.last.forced.then { |work| work.gcs > all[began].forced.gcs && work.walks > 0 } }"
    assert_with_profiles(<<~RUBY)
      #{there}
      #{COUNTED}
      assert_operator gcs, :>, 0
      assert_operator forked, :>, 0
      assert_equal 0.5, all.last.forced.limit
      assert_operator all.last.forced.walk_seconds, :>, 0
      assert_operator all.last.forced.longest_stop, :>=, all.filter_map { |info| info.walk&.hold_up }.max * 0.5
    RUBY
  end

  # The walks of a program that works until the block has it end: those that were made, by profile.
  def assert_walks(script, **settings)
    assert_with_profiles(<<~RUBY, **settings)
      def walks = infos.count { |info| info.walk && !info.walk.refused }
      # Profiles are not read meanwhile: the garbage of that would let the process grow.
      def work_on(profiles, &work)
        enough = files.size + profiles
        work_until(-> { files.size >= enough }, &work)
      end
      def garbage = Array.new(10) { "garbage " * 20 }
      $enough = ->(infos) { walks >= 1 }      # a slow machine may make two between two looks
      work_until { garbage }
      assert_operator infos.size, :<=, GC::OPTS.include?("RGENGC_CHECK_MODE") ? 8 : 4, "the first walk comes early"
      #{script}
    RUBY
  end

  # A walk would be paid for before the first profile.
  def test_the_first_walk_waits_until_a_young_process_has_filled_its_heap
    assert_with_profiles(<<~'RUBY')
      omit "a check build starts so slowly that it was walked before" if infos.any?(&:walk)
      filled = []
      4.times do |profiles|
        filled << Array.new(28) { "-" * (1 << 20) }
        $enough = ->(infos) { infos.size > profiles }
        work_until { "garbage " * 20 }
      end
      omit "a busy machine: a second profile came before the next step" if infos.size > 4
      omit "a check build is so slow that a walk was asked for, and refused" if GC::OPTS.include?("RGENGC_CHECK_MODE") && infos.any?(&:walk)
      assert_equal [nil], infos.map(&:walk).uniq
      $enough = ->(infos) { infos.any? { |info| info.walk && !info.walk.refused } }
      work_until { "garbage " * 20 }
      assert_operator infos.index(&:walk), :<=, 6
    RUBY
  end

  # An early one would see nothing of a leak, and a second one would not be paid for. 700,000 slots are guessed to take 0.2 s:
  # half of that is 2% of 5 s.
  def test_the_first_walk_of_a_large_heap_waits_until_half_of_its_price_is_paid
    assert_with_profiles(<<~'RUBY', settings: "diagnose=2%")
      began = Time.now
      $kept = Array.new(20) { Array.new(35_000) { Object.new }.tap { GC.start } }      # each major GC leaves more alive
      ready = Time.now          # on a slow machine a part of it may have been walked before
      walked = ->(infos) { infos.find { |info| info.walk && !info.walk.refused && info.taken > ready } }
      $enough = walked
      work_until { "garbage " * 20 }
      assert_operator walked[infos].taken - began, :>=, 4
    RUBY
  end

  # The share would pay for a walk before each profile.
  def test_a_process_that_does_not_grow_gets_no_further_walk
    assert_walks(<<~'RUBY')
      # The program grew while it loaded what reads profiles, which may be seen late on a busy machine.
      assert(5.times.any? { before = walks; work_on(8) { garbage }; before == walks }, "walks go on: #{walks}")
      assert_equal walks, infos.last.forced.walks
      assert_operator walks, :<=, 3
    RUBY
  end

  def test_growth_leads_to_a_walk
    assert_walks(<<~'RUBY')
      $kept = Array.new(400_000) { "retained " * 10 }      # 50 MB
      $enough = ->(infos) { walks >= 2 }
      work_until { garbage }
      # It grows no further, so walks end, though the growth may be seen late on a busy machine.
      assert(6.times.any? { made = walks; work_on(5) { garbage }; made == walks }, "walks go on: #{walks}")
    RUBY
  end

  # Less than what one look at memory shows.
  def test_major_gcs_that_leave_more_alive_lead_to_a_walk
    assert_walks(<<~'RUBY')
      20.times { GC.start }
      before = nil
      assert(5.times.any? { before = walks; work_on(3) { garbage }; before == walks }, "walks go on: #{walks}")
      $kept = []
      20.times { $kept << Array.new(4_000) { Object.new }; GC.start }
      # Not read meanwhile: that garbage alone would let the process grow by as much as leads to a walk, in some 40 profiles.
      work_on(10) { garbage }
      assert_operator walks, :>, before
      assert_operator $kept.flatten.size * 40, :<, 8 << 20
    RUBY
  end

  # Pages that were only read take no memory, but a fork copies their entries in the page tables: half a million here.
  def test_no_walk_begins_by_itself_that_would_stop_the_program_for_long
    assert_walks(<<~'RUBY')
      size = 2 << 30
      tables = IO::Buffer.new(size, IO::Buffer::MAPPED)
      (0...size).step(4096) { |at| tables.get_value(:U8, at) }
      omit "zero pages are huge here" if File.read("/proc/self/status")[/VmPTE:\s*(\d+)/, 1].to_i < 3 << 10
      $kept = Array.new(400_000) { "retained " * 10 }
      $enough = ->(infos) { infos.find { |info| info.walk&.refused&.include?("stop the program") } }
      work_until { garbage }
      info = $enough[infos]     # a later profile may be there by now, with another refusal
      assert_match(/\Aa heap walk would stop the program for more than 50 ms; run heapsample why PID \(estimated stop: \d+ ms\)\z/, info.walk.refused)
      assert_operator info.walk.refused[/(\d+) ms\)/, 1].to_i, :>, 50
      assert_equal [1, 0.0], [info.forced.walks, info.walk.hold_up]
      assert_nil GC.sample_profile(full_gc: false, why: true).to_profile.info.walk.refused
    RUBY
  end

  # A million live objects take some 60 ms: 0.1% of some seconds pays for none, and where that takes a minute for one.
  def test_the_share_is_kept
    assert_with_profiles(<<~'RUBY', settings: "diagnose=0.1%")
      big = Array.new(1_000_000) { Object.new }
      GC.start
      # On a busy machine a major of the program's own may come before each of the first profiles.
      $enough = ->(infos) { infos.size >= 4 && infos.any? { |info| info.forced.last == :over_budget } }
      work_until { leak }
      last = infos.last.forced
      assert_equal 0.001, last.limit
      assert_operator last.gcs, :<=, last.of / 40
      assert_include infos.map { |info| info.forced.last }, :over_budget
    RUBY
  end

  # GCs take half of the share, about: the price of a GC is known when it is over, so that one may go over it by half.
  # Each profile says what was spent so far.
  def test_the_price_stays_below_the_share
    assert_with_profiles(<<~'RUBY', settings: "diagnose=4%")
      big = Array.new(100_000) { Object.new }
      $enough = ->(infos) { infos.size >= 8 && infos.last.forced.gcs >= 2 }
      work_until { leak if rand < 0.02 }      # a heap that grows fast is soon too dear
      infos.each { |info| assert_operator info.forced.gc_seconds / info.forced.of, :<=, 0.03, info.forced.to_a.inspect }
      counts = infos.map { |info| info.forced.gcs }
      assert_equal counts.sort, counts
    RUBY
  end

  def test_gc_that_is_disabled_stays_so
    assert_with_profiles(<<~'RUBY')
      # Each profile is read once: the garbage of reading fills the heap, which makes a GC expensive in check builds.
      $read = {}
      def infos = files.map { |file| $read[file] ||= HeapSample::Profile.load(file).info }
      GC.start
      GC.disable
      count = GC.count
      $enough = ->(infos) { infos.count { |info| info.forced.last == :refused } >= 2 }
      work_until { leak if rand < 0.002 }      # a heap that grows fast is soon too dear, in check builds
      assert_equal [count, true], [GC.count, GC.disable]
    RUBY
  end

  def test_majors_that_are_disabled_stay_so
    assert_with_profiles(<<~'RUBY')
      GC.start
      GC.config(rgengc_allow_full_mark: false)
      majors = GC.stat(:major_gc_count)
      $enough = ->(infos) { infos.count { |info| info.forced.last == :refused } >= 2 }
      work_until { leak if rand < 0.02 }       # as above
      assert_equal majors, GC.stat(:major_gc_count)
    RUBY
  end

  # Marking stands still where no thread allocates, and Ruby code reaches safe points all the same.
  def test_marking_ends_in_a_program_that_allocates_nothing
    omit "marking takes longer than a profile" if GC::OPTS.include?("RGENGC_CHECK_MODE")
    assert_with_profiles(<<~'RUBY')
      $leak = Array.new(400_000) { Object.new }
      # Those that ended a GC while the program did not allocate: it does in `infos`, and marking goes on then anyway. On a busy
      # machine a profile may be due before this process runs, or before marking can end.
      ended = []
      latest = now + 300
      seconds = 4
      until ended.size >= 2 || now > latest
        from, deadline = Time.now, now + seconds
        i = 0
        i += 1 until i % 1000 == 0 && now > deadline
        till = Time.now
        ended |= infos.select { |info| info.forced.last == :ended && info.last_major&.between?(from, till) }.map(&:last_major_gc)
        seconds = [seconds * 2, 60].min
      end
      lasts = infos.map { |info| info.forced.last }
      assert_operator ended.size, :>=, 2, lasts.inspect
      assert_empty lasts - %i[ended not_needed unfinished no_safe_point], lasts.inspect
    RUBY
  end

  def test_an_idle_program_is_let_alone
    assert_with_profiles(<<~'RUBY')
      # Before it sleeps there may be safe points; so the next profile does not count.
      asked = [5, 20, 60].lazy.map do |seconds|
        before, awake = files.size, Time.now + seconds
        sleep seconds                         # in which nothing happens
        infos.drop(before + 1).select { |info| info.taken < awake }.map(&:forced)
      end.find { |all| all.size >= 3 } || []
      assert_equal 1, asked.map { |work| [work.gcs, work.walks] }.uniq.size, asked.inspect
      assert_include [[:no_safe_point], [:not_needed, :no_safe_point]], asked.map(&:last).uniq
    RUBY
  end

  # Ractors allocate all the time and keep the objects of their last turn. Were the heap to grow, its GCs would soon cost
  # more than the share, and the second forced one would begin after minutes. The share is small because a profile with a
  # walk takes some seconds on a busy machine.
  def test_ractors
    assert_with_profiles(<<~'RUBY', settings: "diagnose=2%")
      # With RUBY_DEBUG, MRI counts autoloads in one number of all Ractors, and a Ractor that meets another's fails an assertion.
      sleep 0.1 until infos.any?
      infos.last.forced.gcs
      ractors = 3.times.map do
        Ractor.new do
          kept = []
          until Ractor.receive_if { true } == :stop
            20_000.times { |i| kept[i] = [Object.new] }
            GC.start(full_mark: false) if rand < 0.1
          end
          kept.flatten.count { |object| object.instance_of?(Object) }
        end
      end
      $enough = ->(infos) { infos.size >= 5 && infos.last.forced.gcs >= 2 }
      $rounds = 0       # a local variable that the block writes meets a defect of MRI (doc/reliability.md)
      work_until do
        leak if rand < 0.02
        ractors.each { |ractor| ractor.send(:go) } if ($rounds += 1) % 20_000 == 0
      end
      ractors.each { |ractor| ractor.send(:stop) }
      assert_equal [20_000] * 3, ractors.map(&:take)
    RUBY
  end

  # How often the program finds itself between two steps of a marking that was forced.
  def assert_forced_marking(in_steps:, begin_with: "")
    assert_with_profiles(<<~RUBY)
      #{begin_with}
      $leak = Array.new(400_000) { Object.new }
      seen = 0
      $enough = ->(infos) { infos.last.forced.gcs >= 3 && (seen > 0 || !#{in_steps}) }
      work_until do
        leak
        seen += 1 if GC.latest_gc_info(:state) == :marking && GC.latest_gc_info(:gc_by) == :capi
      end
      assert_equal #{in_steps}, seen > 0, seen.to_s
    RUBY
  end

  def test_all_gcs_are_recorded_with_what_they_took
    assert_sampled(<<~'RUBY')
      GC.sample_profile.to_profile.info
      5.times { GC.start }
      20_000.times { "x" * 2000 }
      300.times { "y" * 400_000 }
      GC.disable
      snapshot, stat, took = GC.sample_profile, GC.stat, GC.total_time / 1e9
      now = HeapSample::GCRecord.of(snapshot.to_profile.info)
      majors = now.causes.select { |cause| %w[nofree oldgen shady oldmalloc force sampler].include?(cause.reason) }
      assert_equal [stat[:count], stat[:major_gc_count]], [now.gcs, now.majors]
      assert_equal [now.gcs, now.majors], [now.causes.sum(&:gcs), majors.sum(&:gcs)]
      # One of these GCs may have been due anyway, and has that reason.
      assert_operator now.causes.find { |cause| cause.reason == "force" }.gcs, :>=, 3
      assert_operator majors.sum(&:gcs), :>=, 5
      assert_not_empty now.causes.map(&:reason) & %w[malloc oldmalloc]
      assert_in_delta took, now.seconds, 0.002
      assert_in_delta now.seconds, now.entries.sum(&:took), 0.002
      assert_include 0.001..1, now.share
      assert_operator now.longest_pause, :>, 0.0001
      assert now.entries.all? { |entry| entry.pause > 0 && entry.pause < 5 }
      last = now.entries.last
      assert_equal stat[:count], last.gc
      assert_in_delta stat[:heap_allocated_pages], last.pages, 20
      assert_in_delta stat[:old_objects], last.old_objects, 300
      assert_in_delta stat[:total_allocated_objects], now.entries.sum(&:allocated), 20_000
    RUBY
  end

  def test_older_gcs_share_entries_and_a_forked_child_counts_its_own
    assert_sampled(<<~'RUBY')
      require "heapsample"
      record = -> { HeapSample::GCRecord.of(GC.sample_profile.to_profile.info) }
      1500.times { GC.start(full_mark: false) }
      GC.disable
      now = record.call
      assert_operator now.entries.size, :<=, 256
      assert_equal [GC.count, [1]], [now.gcs, now.entries.last(64).map(&:gcs).uniq]
      assert_operator now.causes.find { |cause| cause.reason == "method" }.gcs, :>=, 1000
      GC.enable
      pid = fork do
        3.times { GC.start }
        child = record.call
        assert_operator child.gcs, :>=, 1503
        assert_operator child.causes.sum(&:gcs), :<, 50
        assert_operator child.share, :<=, 1
        exit!(0)
      rescue Exception
        exit!(1)
      end
      assert_equal 0, Process.wait2(pid).last.exitstatus
      GC.measure_total_time = false
      GC.start
      assert_nil record.call.share
      assert_equal 0, record.call.entries.last.took
      assert_operator record.call.entries.last.pause, :>, 0
    RUBY
  end

  # While MRI marks in steps, Ractors may lose objects.
  def test_a_forced_gc_marks_at_once_where_there_were_ractors
    assert_forced_marking(in_steps: true)
    assert_forced_marking(in_steps: false, begin_with: "Ractor.new {}.take")
  end

  def test_a_forked_child_has_a_budget_of_its_own_and_none_before_its_first_profile
    assert_with_profiles(<<~'RUBY')
      $enough = ->(infos) { infos.size >= 4 && infos.last.forced.gcs >= 2 }
      work_until { leak }
      reading, writing = IO.pipe
      forked = Time.now
      pid = fork do
        $enough = ->(infos) { infos.size >= 4 && infos.last.forced.gcs >= 1 }
        work_until { leak }
        first = File.stat(files.first)
        asked = infos.map(&:forced)
        # Its own seconds and GCs: those of the parent, which had four profiles, are not in them.
        writing.puts [asked[0].last, asked[0].gcs, asked[0].of < first.mtime - forked + 0.5, asked.last.gcs <= 2 * asked.size].inspect
        exit!(0)
      rescue Exception => error
        writing.puts error.message
        exit!(1)
      end
      writing.close
      assert_equal "[:none, 0, true, true]\n", reading.read
      Process.wait(pid)
    RUBY
  end
end
