# frozen_string_literal: false
require 'test/unit'

# Listeners of sampled allocations: include/ruby/heap_sampler.h (src/heap_sampler/events, src/heap_sampler/extending).
class TestHeapSamplerListeners < Test::Unit::TestCase
  PRELUDE = <<~'RUBY'
    begin
      require "-test-/heap_sampler_listeners"
    rescue LoadError
      abort "-test-/heap_sampler_listeners was not built"
    end
    L = Bug::HeapSamplerListeners
    # A check build adds some bytes to each slot.
    SLOTS = GC.stat_heap.values.map { |heap| heap[:slot_size] }
    SLOT = SLOTS.first
    def slot(bytes) = SLOTS.find { |size| size >= bytes + GC::INTERNAL_CONSTANTS[:RVALUE_OVERHEAD] }
    class Leaf; end
    def leaves(count) = Array.new(count) { Leaf.new }
    def listen(at_once = nil, interval: 0, malloc: 0, follow: true, &act) = L.listen(interval, malloc, follow, at_once || act)
    # Each allocation that is followed still, at the interval that it counts at now, with its weight.
    def alive(listener, memory = :slot)
      held = L.allocations(listener).select { |allocation| allocation[:memory] == memory }.to_h { |allocation| [allocation[:id], allocation[:interval]] }
      sizes = L.allocations(listener).to_h { |allocation| [allocation[:id], allocation[:slot_size]] }
      L.changes(listener).each do |kind, of, id, value|
        next if of != memory
        held.delete(id) if kind == :freed || kind == :forgotten
        held.transform_values! { |interval| [interval, value].max } if kind == :interval
      end
      held.to_h { |id, interval| [id, [sizes[id], L.weight(sizes[id], interval)]] }
    end
    # Is the sum of weights of samples what it should be, by six standard errors? (These are themselves estimated: where few
    # samples came they are too short, and five would be missed once in 80,000 times of 180 samples.)
    def assert_estimate(truth, samples, what)
      estimate = samples.sum { |size, weight| size * weight }
      error = Math.sqrt(samples.sum { |size, weight| weight * (weight - 1) * size * size })
      assert_operator (estimate - truth).abs, :<=, 6 * error + 0.001 * truth, "#{what}: #{estimate.round} for #{truth}, error #{error.round}"
    end
  RUBY

  def assert_listeners(script, args: ["--heap-sample=off"], env: {}, timeout: 120, **options)
    assert_separately([env, "-W1", "--disable=gems", *args], PRELUDE + script, timeout: timeout, **options)
  end

  def test_each_hears_what_it_would_alone_and_the_profile_stays_right
    assert_listeners(<<~'RUBY', args: ["--heap-sample=interval=16k,malloc=off,output=none,seed=3"])
      listeners = [512, 4096, 65_536].to_h { |interval| [interval, listen(interval: interval, follow: interval != 4096)] }
      kept = leaves(300_000)
      allocations = listeners.transform_values { |listener| L.allocations(listener).select { |allocation| allocation[:leaf] } }
      listeners.each_value { |listener| L.unlisten(listener) }
      allocations.each do |interval, list|
        assert_estimate 300_000 * SLOT, list.map { |allocation| allocation.values_at(:slot_size, :weight) }, "listener at #{interval}"
        expected = 300_000 * (1 - Math.exp(-SLOT / interval.to_f))
        assert_in_delta expected, list.size, 6 * Math.sqrt(expected)
        assert_equal [interval], list.map { |allocation| allocation[:interval] }.uniq
        assert_equal list.size, list.map { |allocation| allocation[:id] }.uniq.size
      end
      # A sample of a long interval is one of each shorter one.
      ids = allocations.values.map { |list| list.map { |allocation| allocation[:id] } }
      assert_empty ids[2] - ids[1]
      assert_empty ids[1] - ids[0]
      rows = GC.sample_profile.rows.select { |row| row.class_name == "Leaf" }
      bytes = rows.sum { |row| row[:alloc_space].to_f }
      assert_in_delta 300_000 * SLOT, bytes, 6 * Math.sqrt(300_000 * SLOT * 16_384.0)
    RUBY
  end

  def test_an_allocation_says_what_where_and_when
    assert_listeners(<<~'RUBY')
      listener = listen(interval: 1, follow: false)
      thread = Thread.new { @leaf = Leaf.new; @line = __LINE__ }
      thread.join
      @embedded = Array.new(4)
      L.unlisten(listener)
      allocation = L.allocations(listener).find { |one| one[:leaf] }
      assert_equal [SLOT, 1, :slot], allocation.values_at(:slot_size, :interval, :memory)
      assert_in_delta 1, allocation[:weight], 1e-9
      assert_in_delta SLOT, allocation[:weight_bytes], 1e-6
      assert_equal 1, allocation[:type]     # T_OBJECT
      assert_equal 0, allocation[:labels]
      assert_equal GC.count, allocation[:gc_count]
      assert_operator allocation[:thread], :>, 1
      frames = L.frames(allocation[:stack])
      assert_match(/Class#new/, frames[0])
      assert_include frames.join("\n"), "#{__FILE__}:#{@line}:in 'block in <main>'"
      assert_equal [], L.frames(0)
      assert_equal [], L.frames(allocation[:stack] + (1 << 40))
    RUBY
  end

  def test_an_allocation_says_what_was_asked_for_and_what_it_takes
    assert_listeners(<<~'RUBY', args: ["--heap-sample=off,malloc=standby"])
      class Three; def initialize = (@a = @b = @c = 1); end
      class Nine; def initialize = (@a = @b = @c = @d = @e = @f = @g = @h = @i = 1); end
      2.times { Three.new; Nine.new }          # so many instance variables they have
      text = "x" * 50
      listener = listen(interval: 1, malloc: 1, follow: false)
      sizes = lambda do |&make|
        before = L.counts(listener)[0]
        made = Array.new(3) { make.call }
        L.allocations(listener).drop(before).select { |allocation| allocation[:memory] == :slot }.map { |allocation| allocation.values_at(:size, :slot_size) }.tally.select { |_, count| count >= 3 }.keys
      end
      word = L.word
      assert_include sizes.call { Three.new }, [16 + 3 * word, slot(16 + 3 * word)]
      assert_include sizes.call { Nine.new }, [16 + 9 * word, slot(16 + 9 * word)]
      assert_include sizes.call { text + "" }, [24 + 50 + 1, slot(24 + 50 + 1)]
      assert_include sizes.call { Array.new(11) }, [16 + 11 * word, slot(16 + 11 * word)]
      exit unless L.interval(listener, true) > 0
      L.flush
      before = L.counts(listener)[0]
      strings = Array.new(100) { "y" * 20_000 }
      L.flush
      asked = L.allocations(listener).drop(before).select { |allocation| allocation[:memory] == :malloc && allocation[:slot_size] == 20_480 }.map { |allocation| allocation[:size] }
      assert_equal [20_001], asked.uniq
      assert_equal 100, asked.size
    RUBY
  end

  def test_trace_points_see_nothing_of_it
    assert_listeners(<<~'RUBY', ignore_stderr: true)
      seen = []
      point = TracePoint.new(:raise, :c_call, :call, :line) do |at|
        seen << (at.event == :raise ? at.raised_exception.message : at.method_id)
      end
      listener = listen(:raise, interval: 1, follow: false)
      other = listen(:call_c, interval: 1, follow: false)
      point.enable { leaves(100) }
      assert_equal false, point.enabled?
      L.unlisten(listener)
      L.unlisten(other)
      assert_include seen, :leaves
      assert_not_include seen, "out of a call"
      assert_not_include seen, :clear
      assert_operator L.done(other), :>=, 100
    RUBY
  end

  # What the header forbids: check builds end with a word about it.
  def test_what_allocated_may_not_do_is_asserted
    omit "no check build" unless GC::SampleProfile.respond_to?(:check)
    { call: "calls Ruby code", enable: "has enabled GC", change: "has changed the object" }.each do |act, complaint|
      script = "#{PRELUDE}; def Object.ruby_code = 1; $stderr.puts 'listens'; listen(#{act.inspect}, interval: 1, follow: false); leaves(10); puts 'lived on'"
      args = ["-W0", "--disable=gems", "--heap-sample=off", *$:.map { |dir| "-I#{dir}" }, "-e", script]
      out, err, status = EnvUtil.invoke_ruby(args, "", true, true, timeout: 300, rlimit_core: 0)
      first, said = err.lines.first(2)         # the rest is MRI's report of the crash
      assert_equal("listens\n", first)
      assert_match(/\[BUG\] heap sampler: a listener's `allocated` #{complaint}/, said)
      assert_equal("", out)
      assert_not_predicate status, :success?
    end
  end

  def test_deaths_come_when_a_mark_has_ended
    assert_listeners(<<~'RUBY')
      listener = listen(interval: 1)
      @kept = leaves(1000)
      leaves(500)
      stopped = L.allocations(listener).size
      GC.start
      L.flush
      freed = L.changes(listener).select { |kind,| kind == :freed }.map { |_, _, id| id }
      assert_equal freed.uniq, freed
      leaves = L.allocations(listener).select { |allocation| allocation[:leaf] }.map { |allocation| allocation[:id] }
      assert_include 1000..1002, (leaves - freed).size          # the machine stack may hold a last one
      assert_empty freed - L.allocations(listener).map { |allocation| allocation[:id] }
      L.unlisten(listener)
      @kept = nil
      count = L.changes(listener).size
      GC.start
      L.flush
      assert_equal count, L.changes(listener).size
      assert_equal 0, GC::SampleProfile.stat[:live_samples]
    RUBY
  end

  def test_moves_say_the_new_address_of_the_same_id
    omit "no compaction" unless GC.respond_to?(:compact)
    assert_listeners(<<~'RUBY')
      require "objspace"
      GC.start
      listener = listen(interval: 1)
      kept = leaves(20_000)
      kept = kept.each_slice(10).map(&:first)          # nine of ten slots get free
      4.times { GC.start }
      L.flush
      ids = L.allocations(listener).select { |allocation| allocation[:leaf] }.map { |allocation| allocation[:id] }
      GC.compact               # the class may move, too
      L.flush
      moved = L.changes(listener).select { |kind, _, id| kind == :moved && ids.include?(id) }
      assert_operator moved.size, :>, 100
      last = moved.to_h { |_, _, id, address| [id, address] }
      addresses = kept.map { |leaf| ObjectSpace.dump(leaf)[/"address":"0x(\h+)"/, 1].to_i(16) }
      assert_empty last.values - addresses
    RUBY
  end

  def test_labels_are_told_of_slots_and_of_malloc
    assert_listeners(<<~'RUBY', args: ["--heap-sample=off,malloc=standby"])
      with_malloc = !GC::SampleProfile.stat[:malloc_missing].to_s.include?("without jemalloc")
      listener = listen(interval: 1, malloc: with_malloc ? 1024 : 0)
      leaves(10)
      kept = GC::SampleProfile.with_labels(controller: "orders", action: "show") { [leaves(100), Array.new(50) { "x" * 9000 }] }
      L.flush
      allocations = L.allocations(listener)
      of = ->(memory) { allocations.select { |allocation| allocation[:memory] == memory }.group_by { |allocation| allocation[:label_text] } }
      slots = of[:slot].transform_values { |some| some.count { |allocation| allocation[:leaf] } }
      assert_equal [10, 100], slots.values_at("", "action=show\ncontroller=orders")
      assert_equal 2, allocations.map { |allocation| allocation[:labels] }.uniq.size
      exit unless with_malloc
      blocks = of[:malloc]["action=show\ncontroller=orders"].sum { |allocation| allocation[:weight_bytes] }
      assert_in_delta 50 * 9000, blocks, 200_000
    RUBY
  end

  def test_who_follows_nothing_costs_no_memory
    assert_listeners(<<~'RUBY')
      listener = listen(interval: 1, follow: false)
      kept = leaves(10_000)
      assert_operator L.allocations(listener).size, :>, 10_000
      assert_equal 0, GC::SampleProfile.stat[:live_samples]
      L.unlisten(listener)
    RUBY
  end

  def test_too_many_samples_are_forgotten_and_the_others_count_for_them
    assert_listeners(<<~'RUBY', args: ["--heap-sample=off,max-samples=5000,seed=7"])
      listener = listen(interval: 400)
      kept = leaves(300_000)
      GC.start
      L.flush
      changes = L.changes(listener)
      assert_include changes.map(&:first), :forgotten
      interval = changes.select { |kind,| kind == :interval }.map(&:last).max
      assert_equal interval, L.interval(listener, false)
      assert_operator interval, :>, 400
      leaves = L.allocations(listener).select { |allocation| allocation[:leaf] }.map { |allocation| allocation[:id] }
      living = alive(listener).slice(*leaves).values
      assert_operator living.size, :<=, 5000
      assert_estimate 300_000 * SLOT, living, "alive"
      # Allocations stay what they were: they count what was allocated.
      assert_estimate 300_000 * SLOT, L.allocations(listener).select { |allocation| allocation[:leaf] }.map { |allocation| allocation.values_at(:slot_size, :weight) }, "allocations"
      assert_equal 0, L.missed
    RUBY
  end

  def test_what_a_listener_allocates_is_told_to_nobody
    assert_listeners(<<~'RUBY')
      other = listen(interval: 1, follow: false)
      listener = listen(:allocate, interval: 1, follow: false)
      kept = leaves(1000)
      L.unlisten(listener)
      allocations = L.allocations(other)
      L.unlisten(other)
      assert_operator L.done(listener), :>=, 1000
      assert_operator allocations.size, :<, 1500, "five strings, an array and a hash for each of 1000"
      # Nor what is allocated in a batch.
      listener = listen(interval: 1) { Array.new(1000) { "in a call" } }
      leaves(1000)
      GC.start
      L.flush
      assert_operator L.calls(listener), :>, 1000
      assert_operator L.allocations(listener).size, :<, 2000
    RUBY
  end

  # GC is disabled in a call; one that marks or sweeps in steps goes on where the call allocates. (MRI's check builds assert that
  # there is none, but of a GC that was asked for by a method.)
  def test_a_gc_in_steps_goes_on_in_a_call
    assert_listeners(<<~'RUBY')
      listener = listen(:allocate, interval: 1, follow: false)
      kept, states = [], []
      until (%i[marking sweeping] - states).empty? && states.last == :none
        kept << leaves(1000)
        states << GC.latest_gc_info(:state)
        assert_operator states.size, :<, 2000
      end
      L.unlisten(listener)
      assert_operator L.done(listener), :>=, 1000 * states.size
    RUBY
  end

  def test_what_it_raises_is_not_raised
    assert_listeners(<<~'RUBY', ignore_stderr: true)
      listener = listen(:raise, interval: 1)
      assert_equal 3000, leaves(3000).size
      catch(:out) do
        thrower = listen(:throw, interval: 1)
        leaves(100)
        L.unlisten(thrower)
        assert_operator L.done(thrower), :>=, 100
      end
      assert_nil $!
      L.act(listener, proc { raise "out of a batch" })
      GC.start
      L.flush
      assert_operator L.calls(listener), :>, 3000
      L.unlisten(listener)
      assert_operator GC::SampleProfile.stat[:listener_errors], :>, 3000
      listener = listen(:overflow, interval: 1)
      leaves(10)
      1000.times { Thread.pass }
      L.unlisten(listener)
      assert_operator L.done(listener), :>=, 10
      begin
        raise ArgumentError
      rescue
        listener = listen(:raise, interval: 1)
        leaves(10)
        L.unlisten(listener)
        assert_instance_of ArgumentError, $!
      end
      # While the program raises, and its backtrace is made.
      listener = listen(:raise, interval: 1)
      raised = Array.new(50) do |i|
        raise ArgumentError, "mine #{i}"
      rescue => e
        [e.class, e.message, e.backtrace.empty?]
      end
      L.unlisten(listener)
      1000.times { Thread.pass }
      assert_equal Array.new(50) { |i| [ArgumentError, "mine #{i}", false] }, raised
      # In the middle of instructions that have operands on the stack, and calls that have a block.
      listener = listen(:raise, interval: 1)
      results = Array.new(200) { |i| ["a" + i.to_s, [i, [i.to_s, {i.to_s => i}]], Array.new(2) { |j| [i, j].map { |k| k.to_s } }, proc { i }] }
      L.unlisten(listener)
      results.each_with_index do |(text, nested, mapped, block), i|
        assert_equal ["a" + i.to_s, [i, [i.to_s, {i.to_s => i}]], [[i.to_s, "0"], [i.to_s, "1"]], i], [text, nested, mapped, block.call]
      end
    RUBY
  end

  # Deep in C functions the machine stack ends first: in a call, or where one begins or ends.
  def test_it_is_called_to_the_end_of_the_stack
    assert_listeners(<<~'RUBY', ignore_stderr: true, timeout: 100)
      def deeper(list) = [list].each_with_index { |inner, i| [[inner, i]].to_h { |a, b| [deeper([a, b]), b] } }
      listener, follower = listen(:allocate, interval: 1, follow: false), listen(proc {}, interval: 1)
      40.times do
        Thread.new do
          assert_raise(SystemStackError) { deeper([]) }
        end.join
      end
      calls = L.calls(listener)
      leaves(100)
      assert_operator L.calls(listener) - calls, :>=, 100
      [listener, follower].each { |one| L.unlisten(one) }
      assert_operator GC::SampleProfile.stat[:listener_missed], :>, 0
    RUBY
  end

  # It would have the VM lock, which a jump of it gives back.
  def test_no_other_thread_runs_in_a_call
    assert_listeners(<<~'RUBY', ignore_stderr: true)
      listeners = [listen(:raise, interval: 1, follow: false), listen(:call_c, interval: 1, follow: false)]
      finalized = 0
      threads = Array.new(4) do
        Thread.new do
          1000.times do
            ObjectSpace.define_finalizer(Leaf.new, proc { finalized += leaves(1).size })
            catch(:out) { leaves(2) && throw(:out) }
          end
        end
      end
      threads.each(&:join)
      listeners.each { |listener| L.unlisten(listener) }
      listeners.each { |listener| assert_operator L.done(listener), :>=, 12_000 }
      GC.start
      assert_operator finalized, :>, 1000
    RUBY
  end

  def test_what_is_meant_for_the_thread_takes_effect_later
    assert_listeners(<<~'RUBY')
      def wait = 1000.times { Thread.pass }
      interrupted = begin
        listener = listen(:interrupt, interval: 1, follow: false)
        leaves(10)
        wait
      rescue Interrupt
        true
      end
      L.unlisten(listener)
      assert_equal true, interrupted
      thread = Thread.new do
        listener = listen(:kill, interval: 1, follow: false)
        leaves(10)
        wait
        sleep
      end
      assert_equal thread, thread.join(30)
      assert_equal false, thread.status
      L.unlisten(listener)
      assert_equal 100, leaves(100).size
      ended = begin
        listener = listen(:exit, interval: 1, follow: false)
        leaves(10)
        wait
      rescue SystemExit => e
        e.status
      end
      L.unlisten(listener)
      assert_equal 7, ended
    RUBY
  end

  def test_it_may_unlisten_itself_and_others_in_a_call
    assert_listeners(<<~'RUBY')
      b = listen(interval: 1)
      a = listen(interval: 1)
      c = listen(interval: 1)
      L.unlisten_too(a, b)
      L.act(a, :unlisten)
      leaves(100)
      assert_equal 1, L.done(a)
      assert_operator L.allocations(b).count { |allocation| allocation[:leaf] }, :<=, 1
      assert_operator L.allocations(c).size, :>=, 100
      assert_equal false, L.unlisten(a)
      assert_equal false, L.unlisten(b)
      assert_equal 1, GC::SampleProfile.stat[:listeners]
      GC.start
      L.flush
      # The same in a batch, where its place is taken again at once.
      d = e = nil
      d = listen(interval: 1) { L.unlisten(d); e ||= listen(interval: 1) }
      leaves(2000)
      3.times { GC.start; L.flush }
      assert_instance_of Integer, e
      known = L.allocations(e).map { |allocation| allocation[:id] }
      assert_empty L.changes(e).select { |_, _, id| id != 0 && !known.include?(id) }
      L.unlisten(c)
      L.unlisten(e)
      assert_equal 0, GC::SampleProfile.stat[:listeners]
    RUBY
  end

  def test_who_may_listen
    assert_listeners(<<~'RUBY')
      assert_equal :EINVAL, listen(interval: 0)
      assert_equal :EINVAL, listen(interval: (1 << 30) + 1)
      assert_equal :EINVAL, listen(interval: 1, malloc: (1 << 30) + 1)
      assert_nil L.listen_as(8)
      assert_nil L.listen_as(1000)
      old = L.listen_as(40)             # without malloced and changed
      assert_instance_of Integer, old
      leaves(1000)
      L.unlisten(old)
      all = Array.new(8) { listen(interval: 1 << 30) }
      assert_equal [Integer], all.map(&:class).uniq
      assert_equal :EAGAIN, listen(interval: 1)
      assert_equal true, L.unlisten(all[3])
      all[3] = listen(:listen, interval: 1, follow: false)      # it checks EDEADLK
      leaves(10)
      assert_equal [1, 1 << 30], [L.interval(all[3], false), L.interval(all[4], false)]
      assert_equal 0, L.interval(all[3], true)
    RUBY
  end

  def test_fork_in_a_call
    assert_listeners(<<~'RUBY')
      listener = listen(:fork, interval: 1, follow: false)
      assert_equal 100, leaves(100).size
      L.unlisten(listener)
      assert_equal 7, Process.wait2(L.done(listener))[1].exitstatus
      # In a batch, the child goes on.
      pid = nil
      r, w = IO.pipe
      listener = listen(interval: 1) { pid ||= fork { w << leaves(10).size.to_s; exit! } }
      leaves(100)
      GC.start
      L.flush
      L.unlisten(listener)
      Process.wait(pid)
      assert_equal "10", r.readpartial(2)
    RUBY
  end

  def test_what_a_child_inherits
    assert_listeners(<<~'RUBY')
      listener = listen(interval: 1)
      kept = leaves(1000)
      before = L.allocations(listener).size
      pid = fork do
        seen = L.allocations(listener).size
        more = leaves(500)
        allocated = L.allocations(listener).drop(seen).count { |allocation| allocation[:leaf] }
        ids = L.allocations(listener).map { |allocation| allocation[:id] }
        kept = more = nil
        GC.start
        L.flush
        freed = L.changes(listener).count { |kind,| kind == :freed }
        L.unlisten(listener)
        exit!(allocated == 500 && ids.uniq == ids && freed > 1000 && GC::SampleProfile.stat[:listeners] == 0 ? 0 : 1)
      end
      assert_equal 0, Process.wait2(pid)[1].exitstatus
      L.unlisten(listener)
      # A thread that is in a call when another one forks is not there in the child.
      asleep = Queue.new
      listener = listen(interval: 1) { if Thread.current[:sleeps] then asleep << 1; sleep end }
      sleeper = Thread.new { Thread.current[:sleeps] = true; leaves(100); GC.start; L.flush }
      asleep.pop
      pid = fork do
        other = listen(interval: 1)
        leaves(1000)
        GC.start
        L.flush
        exit!(L.changes(other).any? ? 0 : 1)
      end
      assert_equal 0, Process.wait2(pid)[1].exitstatus
      sleeper.kill
    RUBY
  end

  def test_ractors_and_stress
    assert_listeners(<<~'RUBY', ignore_stderr: true)
      listener = listen(interval: 64)
      ractors = Array.new(3) { Ractor.new { 20_000.times { Object.new }; :done } }
      kept = leaves(20_000)
      assert_equal [:done] * 3, ractors.map(&:take)
      GC.start
      L.flush
      samples, objects, = L.sums(listener, false)
      assert_operator objects, :>, 70_000
      assert_estimate 20_000 * SLOT, L.allocations(listener).select { |allocation| allocation[:leaf] }.map { |allocation| allocation.values_at(:slot_size, :weight) }, "beside Ractors"
      L.unlisten(listener)
      listener = listen(:allocate, interval: 1)
      begin
        GC.stress = true
        leaves(100)
      ensure
        GC.stress = false
      end
      L.unlisten(listener)
      assert_operator L.done(listener), :>=, 100
    RUBY
  end

  def test_malloc
    assert_listeners(<<~'RUBY', args: ["--heap-sample=off,malloc=standby"])
      listener = listen(malloc: 4096)
      omit "malloc is not sampled here" if L.interval(listener, true) == 0
      def strings = Array.new(3000) { "x" * 20_000 }; LINE = __LINE__
      kept = strings
      L.flush
      mine = L.allocations(listener).select { |allocation| allocation[:slot_size] == 20_480 }
      assert_estimate 3000 * 20_480, mine.map { |allocation| allocation.values_at(:slot_size, :weight) }, "malloc"
      assert_equal [[:malloc, 0, 4096]], mine.map { |allocation| allocation.values_at(:memory, :type, :interval) }.uniq
      assert_include L.frames(mine[0][:stack]).join("\n"), "#{__FILE__}:#{LINE}:in 'Object#strings'"
      assert_equal [true], L.allocations(listener).map { |allocation| allocation[:id].odd? }.uniq
      kept = nil
      GC.start
      GC.start
      L.flush
      freed = L.changes(listener).select { |kind, of,| kind == :freed && of == :malloc }.map { |_, _, id| id }
      assert_equal freed.uniq, freed
      assert_empty freed - L.allocations(listener).map { |allocation| allocation[:id] }
      assert_operator (mine.map { |allocation| allocation[:id] } - freed).size, :<, mine.size / 100 + 10
      # Both at once, from many threads, and blocks that live for a moment.
      both = listen(interval: 4096, malloc: 8192)
      Array.new(4) { Thread.new { 2000.times { "y" * 30_000 } } }.each(&:join)
      L.flush
      of_malloc, of_slots = L.allocations(both).partition { |allocation| allocation[:memory] == :malloc }
      assert_estimate 8000 * 32_768, of_malloc.select { |allocation| allocation[:slot_size] == 32_768 }.map { |allocation| allocation.values_at(:slot_size, :weight) }, "threads"
      assert_operator of_slots.size, :>, 10
      assert_equal 0, L.missed
      L.unlisten(both)
      L.unlisten(listener)
      assert_equal 0, GC::SampleProfile.stat[:malloc_live_samples]
    RUBY
  end

  def test_without_malloc_a_listener_hears_of_slots_alone
    assert_listeners(<<~'RUBY')
      listener = listen(interval: 1, malloc: 1024)
      "x" * 100_000
      assert_equal [1, 0], [L.interval(listener, false), L.interval(listener, true)]
      assert_equal [:slot], L.allocations(listener).map { |allocation| allocation[:memory] }.uniq
    RUBY
  end

  def test_the_event_for_trace_points
    assert_listeners(<<~'RUBY', ignore_stderr: true)
      assert_equal true, L.tracepoint_interval(400)
      number, point = L.tracepoint(nil)
      leaves(1000)
      assert_empty L.allocations(number)
      point.enable
      assert_equal 1, GC::SampleProfile.stat[:listeners]
      kept = leaves(100_000)
      point.disable
      assert_equal 0, GC::SampleProfile.stat[:listeners]
      allocations = L.allocations(number).select { |allocation| allocation[:leaf] }
      assert_estimate 100_000 * SLOT, allocations.map { |allocation| allocation.values_at(:slot_size, :weight) }, "trace point"
      leaves(1000)
      assert_equal allocations.size, L.allocations(number).count { |allocation| allocation[:leaf] }
      assert_equal false, L.tracepoint_interval(0)
      # One that raises, beside one that does not, and one of another event.
      assert_equal true, L.tracepoint_interval(1)
      raises, bad = L.tracepoint(:raise)
      hears, good = L.tracepoint(nil)
      good.enable
      bad.enable
      leaves(100)
      bad.disable
      leaves(100)
      good.disable
      assert_operator L.calls(raises), :>=, 100
      assert_operator L.allocations(hears).size, :>=, 100
      lines = 0
      TracePoint.new(:line) { lines += 1 }.enable { leaves(1)
        leaves(1) }
      assert_operator lines, :>, 0
      assert_equal 0, GC::SampleProfile.stat[:listeners]
      # Disabled in its own call.
      last = nil
      once, last = L.tracepoint(:disable)
      last.enable
      leaves(100)
      assert_equal 1, L.done(once)
      assert_equal 0, GC::SampleProfile.stat[:listeners]
    RUBY
  end
end
