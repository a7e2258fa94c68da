# frozen_string_literal: false
require 'test/unit'

# Who holds free memory in heap pages, and which memory of a forked process is its own now.
class TestHeapSamplerOccupancy < Test::Unit::TestCase
  # PLANT.(n) allocates n objects, and returns one of each heap page that these filled.
  PLANT = <<~'RUBY'
    require "heapsample"
    require "json"
    C = GC::SampleProfile.raw_columns
    LINE = __LINE__ + 1
    def allocated(count) = Array.new(count) { Object.new }
    def page_of(object) = Kernel.instance_method(:to_s).bind_call(object)[/0x\h+/].hex >> 16
    def one_a_page(count)
      seen = {}
      allocated(count).select { |object| page = page_of(object); !seen[page] && seen[page] = true }
    end
    def clean = 50.times { [].push(*1..40).sum }        # nothing old on the machine stack
    def profile = GC.sample_profile.raw
    def mine?(row, raw) = (frame = raw[:nodes][row[C[:stack]] * 2 + 1]; raw[:frames][frame * 5 + 3] == LINE)
    def sum(raw, column, rows = raw[:rows]) = rows.sum { |row| row[C[column]] }
    def mine(raw, column) = sum(raw, column, raw[:rows].select { |row| mine?(row, raw) })
    def heaps(raw) = HeapSample::MetaMessage.decode(raw[:meta_message])["heaps"]
    def held(raw) = heaps(raw).sum { |heap| heap["held_slots"] * heap["slot_size"] }
  RUBY

  def assert_planted(script, settings: "interval: 1, max_samples: nil")
    assert_separately(["-W1", "--disable=gems"], "GC::SampleProfile.start(#{settings})\n#{PLANT}\n#{script}", timeout: 120)
  end

  def test_one_survivor_a_page_holds_all_that_is_free
    assert_planted(<<~'RUBY')
      kept = one_a_page(400_000)
      clean
      3.times { GC.start }
      raw = profile
      assert_operator kept.size, :>, 200
      assert_operator mine(raw, :holds_free), :>=, 0.95 * sum(raw, :holds_free)
      # And of what was free on the pages of that heap at the GC, objects from before the start included.
      heap = heaps(raw).first
      assert_operator mine(raw, :holds_free), :>=, 0.95 * heap["held_slots"] * heap["slot_size"]
      # No error where every object is sampled.
      assert_equal 0, sum(raw, :holds_free_variance)
    RUBY
  end

  # Against what ObjectSpace says is on the pages, with neighbours of other lines.
  def test_free_slots_are_charged_in_equal_parts
    assert_planted(<<~'RUBY')
      require "objspace"
      OTHER = __LINE__ + 1
      def other(count) = Array.new(count) { Object.new }
      kept = []
      # In a thread that has ended: the machine stack may refer to the last of the arrays.
      Thread.new { 300.times { |i| kept << allocated(1) << other(3); allocated(400) } }.join
      clean
      3.times { GC.start }
      raw = profile
      shares = raw[:rows].select { |row| row[C[:holds_free]] > 0 }.group_by { |row| raw[:frames][raw[:nodes][row[C[:stack]] * 2 + 1] * 5 + 3] }
      ours, others = [LINE, OTHER].map { |line| shares[line].select { |row| raw[:texts][row[C[:class]]] == "Object" } }
      # By the GC of allocation: three neighbours that are alone on the last page of a GC hold all of it.
      each = [ours, others].map do |rows|
        rows.group_by { |row| row[C[:allocation_gc]] }.transform_values { |same| sum(raw, :holds_free, same) / sum(raw, :inuse_objects, same) }
      end
      ratios = each[0].filter_map { |gc, share| each[1][gc] / share if each[1][gc] }.sort
      assert_operator ratios.size, :>, 10
      assert_in_delta 1, ratios[ratios.size / 2], 0.1
      assert_operator sum(raw, :inuse_objects, others), :>, 2 * sum(raw, :inuse_objects, ours)
    RUBY
  end

  def test_what_fills_free_slots_holds_none
    assert_planted(<<~'RUBY')
      kept = allocated(100_000)
      clean
      3.times { GC.start }
      raw = profile
      assert_operator mine(raw, :holds_free), :<, 0.05 * mine(raw, :inuse_space)
    RUBY
  end

  # The keys of a Hash that compares by identity must not be moved; elements of an Array may be.
  def test_pinned_and_movable
    assert_planted(<<~'RUBY')
      kept = one_a_page(100_000)
      clean
      3.times { GC.start }
      raw = profile
      assert_operator mine(raw, :holds_free_pinned), :<, 0.1 * mine(raw, :holds_free)
      movable = heaps(raw).first
      assert_operator movable["compact_bytes"], :>, 0.8 * kept.size * 65_536

      keys = {}.compare_by_identity
      kept.each { |object| keys[object] = true }
      kept = nil
      clean
      GC.start
      raw = profile
      assert_operator mine(raw, :holds_free_pinned), :>, 0.9 * mine(raw, :holds_free)
      assert_operator heaps(raw).first["compact_bytes"], :<, 0.2 * movable["compact_bytes"]
      assert_operator keys.size, :>, 10
    RUBY
  end

  def test_compaction_empties_what_was_foretold
    omit "no compaction" unless GC.respond_to?(:compact) && (GC.compact rescue nil)
    assert_planted(<<~'RUBY')
      kept = one_a_page(200_000)
      clean
      3.times { GC.start }
      before = profile
      foretold = heaps(before).first["compact_bytes"] / 65_536
      GC.compact
      after = profile
      emptied = heaps(before).first["pages"] - heaps(after).first["pages"]
      assert_operator emptied, :<=, foretold + 2          # what GC.sample_profile itself made is in it
      assert_operator emptied, :>=, 0.9 * foretold
      # Survivors stand together now: their records moved with them.
      assert_operator mine(after, :holds_free), :<, 0.1 * mine(before, :holds_free)
      assert_operator mine(after, :inuse_objects), :>=, kept.size
      GC.start
      assert_operator mine(profile, :holds_free), :<, 0.1 * mine(before, :holds_free)
    RUBY
  end

  def test_before_the_first_major_gc_nothing_is_known_of_heaps
    assert_in_out_err(["--disable=gems", "--heap-sample=output=none", "-rjson"], <<~'RUBY', ["0", "[nil, nil, nil, nil]", "true", "true"], [])
      heap = -> { GC.sample_profile.to_profile.meta["heaps"].first.values_at("pages", "pinned_pages", "held_slots", "compact_bytes") }
      puts GC.stat(:major_gc_count)
      p heap.call
      GC.start
      pages, pinned, _, bytes = heap.call
      p pages >= pinned, bytes <= (pages - pinned) * 65_536
    RUBY
  end

  # -- forked processes ------------------------------------------------------------

  FORKED = <<~'RUBY'
    def in_child
      read, write = IO.pipe
      pid = fork do
        read.close
        write << JSON.generate(yield)
        write.close
        exit!(0)
      end
      write.close
      result = JSON.parse(read.read)
      Process.wait(pid)
      result
    end
    def inherited(raw) = HeapSample::MetaMessage.decode(raw[:meta_message])["inherited"]
    def missing(raw) = HeapSample::MetaMessage.decode(raw[:meta_message])["inherited_missing"]
  RUBY

  def assert_forked(script, settings: "interval: 1, max_samples: nil")
    omit "no fork" unless Process.respond_to?(:fork)
    omit "the kernel does not show this" unless File.readable?("/proc/self/pagemap") && pagemap_shows_sharing?
    assert_planted("#{FORKED}\n#{script}", settings: settings)
  end

  # Bit 56: a page that one process maps.
  def pagemap_shows_sharing?
    require "etc"
    stack = File.foreach("/proc/self/maps").find { |line| line.include?("[stack]") }
    last = stack[/-(\h+)/, 1].hex / Etc.sysconf(Etc::SC_PAGESIZE) - 1
    File.open("/proc/self/pagemap", "rb") { |file| file.pread(8, last * 8) }.unpack1("Q")[56] == 1
  end

  def test_a_process_that_was_not_forked_inherits_nothing
    assert_planted(FORKED + "assert_equal [nil, nil], [inherited(profile), missing(profile)]")
  end

  def test_what_a_child_writes_to_is_not_shared_any_more
    assert_forked(<<~'RUBY')
      quiet = Array.new(40_000) { Object.new }
      kept = allocated(40_000)
      clean
      3.times { GC.start }
      GC.disable
      result = in_child do
        first = profile
        kept.each { |object| object.instance_variable_set(:@touched, true) }
        last = profile
        [first, last].map { |raw| [inherited(raw), mine(raw, :unshared), mine(raw, :unshared_allocated), mine(raw, :inuse_space)] }
      end
      (inherited, before, allocated, space), (inherited_then, after, allocated_then, _) = result
      assert_operator inherited["bytes"], :>, 80_000 * 40
      assert_operator before, :<, 0.1 * space
      assert_operator after, :>, 0.95 * space
      assert_operator inherited_then["unshared"] - inherited["unshared"], :>=, 0.9 * space
      assert_operator inherited_then["unshared"], :<, 0.7 * inherited_then["bytes"]      # no process wrote to the quiet ones
      assert_equal [0, 0], [allocated, allocated_then]
      assert_equal 40_000, quiet.size
    RUBY
  end

  # The lines that put their objects into free slots of the parent's pages.
  def test_what_is_allocated_on_inherited_pages
    assert_forked(<<~'RUBY')
      kept = one_a_page(200_000)
      clean
      3.times { GC.start }
      NEW = __LINE__ + 1
      def newly(count) = Array.new(count) { Object.new }
      result = in_child do
        fresh = newly(30_000)
        GC.start
        raw = profile
        rows = raw[:rows].select { |row| raw[:frames][raw[:nodes][row[C[:stack]] * 2 + 1] * 5 + 3] == NEW }
        [sum(raw, :unshared, rows), sum(raw, :unshared_allocated, rows), mine(raw, :unshared_allocated), sum(raw, :unshared_variance), inherited(raw), fresh.size]
      end
      unshared, allocated, others, variance, inherited, = result
      assert_operator unshared, :>, 0.8 * 30_000 * 40
      assert_in_delta unshared, allocated, 400    # what the line itself made before the fork
      assert_equal [0, 0], [others, variance]
      assert_operator inherited["unshared"], :>=, unshared
      assert_operator kept.size, :>, 10
    RUBY
  end

  def test_without_the_parent_nothing_is_known
    assert_forked(<<~'RUBY')
      read, write = IO.pipe
      gone, over = IO.pipe
      fork do
        parent = Process.pid
        fork do
          over.close
          gone.read
          Thread.pass while Process.ppid == parent
          raw = profile
          write << JSON.generate([inherited(raw), missing(raw)])
          exit!(0)
        end
        exit!(0)
      end
      over.close
      write.close
      Process.wait
      assert_equal [nil, "the parent process has ended"], JSON.parse(read.read)
    RUBY
  end

  def test_a_child_that_was_not_sampled_at_the_fork
    assert_forked(<<~'RUBY')
      GC::SampleProfile.stop
      result = in_child do
        GC::SampleProfile.start(interval: 1)
        [inherited(profile), missing(profile)]
      end
      assert_equal [nil, "sampling was off when the process was forked"], result
    RUBY
  end
end
