# frozen_string_literal: false
require 'test/unit'

# The sampler keeps nothing alive, and its own memory does not grow with freed objects.
class TestHeapSamplerLifetime < Test::Unit::TestCase
  # The columns of a row by name, in every script.
  def assert_separately(args, script, **options) = super(args, "C = GC::SampleProfile.raw_columns; " + script, **options)

  COUNT_LIVE = <<~'RUBY'
    def live_after
      yield
      4.times { GC.start }
      counts = ObjectSpace.count_objects
      [:T_CLASS, :T_OBJECT, :T_STRING, :T_IMEMO].to_h { |type| [type, counts[type]] }
    end
  RUBY

  # What a churn leaves behind with sampling is what it leaves without.
  def assert_leaves_the_same(churn, margin: 300)
    script = "#{COUNT_LIVE}\n" \
             "before = live_after { }\nafter = live_after { #{churn} }\n" \
             "puts after.map { |type, n| [type, n - before[type]].join('=') }.join(' ')"
    run = lambda do |*args|
      out, err, status = EnvUtil.invoke_ruby(["--disable=gems", *args, "-e", script], "", true, true, timeout: 120)
      assert_predicate status, :success?, err
      out.split.to_h { |pair| k, v = pair.split("="); [k, v.to_i] }
    end
    off = run.call
    on = run.call("--heap-sample=interval=64,output=none")
    off.each { |type, left| assert_in_delta left, on[type], margin, "#{type}: off #{off}, on #{on}" }
  end

  def test_singleton_classes
    assert_leaves_the_same("100_000.times { o = Object.new; def o.m = 'x' + 'y'; o.m }")
  end

  def test_eval
    assert_leaves_the_same("30_000.times { |i| eval('[1, 2].map { |x| x.to_s }') }")
  end

  def test_classes
    assert_leaves_the_same("30_000.times { Class.new { def m = Object.new }.new.m }")
  end

  def test_procs_and_methods
    assert_leaves_the_same("50_000.times { |i| o = Object.new; o.define_singleton_method(:m) { [i] }; o.m }")
  end

  def test_names_stay
    assert_separately(["-W1", "--disable=gems", "--heap-sample=interval=256,output=none"], <<~'RUBY', timeout: 120)
      churn = -> { 3_000.times { |i| eval("def m(x) = [x, x.to_s]; m(1)"); Class.new { def k = Object.new }.new.k } }
      2.times { churn.call; GC.start }
      before = GC::SampleProfile.stat
      6.times { churn.call; GC.start }
      after = GC::SampleProfile.stat
      assert_operator after[:frames], :<=, before[:frames] + 200
      assert_operator after[:texts], :<=, before[:texts] + 200
    RUBY
  end

  # More stacks than the tables hold: what has no live sample is folded, totals stay exact and
  # every live object keeps its whole stack.
  def test_very_many_stacks
    assert_separately(["-W1", "--disable=gems"], <<~'RUBY', timeout: 120)
      class Leaf; end
      def a(n, path) = n == 0 ? leaf : ((path & 1) == 1 ? a(n - 1, path >> 1) : b(n - 1, path >> 1))
      def b(n, path) = n == 0 ? leaf : ((path & 1) == 1 ? b(n - 1, path >> 1) : a(n - 1, path >> 1))
      def leaf = Leaf.new
      GC::SampleProfile.start(interval: 1, max_samples: nil)
      count = 350_000
      $keep = []
      count.times { |i| leaf = a(20, i * 1_000_003 % (1 << 20)); $keep << leaf if i % 1000 == 0 }
      GC.start
      stat = GC::SampleProfile.stat
      assert_operator stat[:stacks], :<, 1 << 18
      assert_operator stat[:dropped_stacks], :>, 0
      assert_operator stat[:bytes], :<, 64 << 20
      raw = GC.sample_profile.raw
      name = raw[:texts].index("Leaf")
      rows = raw[:rows].select { |row| row[C[:class]] == name }
      assert_equal count, rows.sum { |row| row[C[:alloc_samples]] }
      assert_equal $keep.size, rows.sum { |row| row[C[:inuse_samples]] + row[C[:young_samples]] }
      $keep.each do |leaf|
        stack = GC::SampleProfile.raw_stack_of(leaf)
        assert_equal ["Class#new", "Object#leaf"], stack.first(2).map(&:first)
        assert_equal "<main>", stack.last[0]
      end
    RUBY
  end

  # Own memory is bounded at every moment, a snapshot's included, and the sums stay right: test/all/cap has the rest.
  def test_own_memory_is_bounded
    assert_separately(["-W1", "--disable=gems"], <<~'RUBY', timeout: 120)
      class Leaf; end
      GC::SampleProfile.start(interval: 1)
      # Many small modules: a build that checks goes through all methods of one at each call of one of them.
      host = nil
      count = 60_000
      kept = Array.new(count) do |i|
        host = Module.new if i % 200 == 0
        host.module_eval("def self.made_#{i} = Leaf.new", "/generated/#{i % 100}.rb", i)
        host.send(:"made_#{i}")
      end
      profile = GC.sample_profile
      stat = GC::SampleProfile.stat
      assert_equal 64 << 20, stat[:bytes_max]
      assert_operator stat[:bytes_peak], :<, stat[:bytes_max]
      assert_operator stat[:bytes], :<=, stat[:bytes_peak]
      assert_operator stat[:interval], :>, 1
      assert_equal 0, stat[:dropped_samples]
      raw = profile.raw
      name = raw[:texts].index("Leaf")
      rows = raw[:rows].select { |row| row[C[:class]] == name }
      error = Math.sqrt(rows.sum { |row| row[C[:inuse_variance]] + row[C[:young_variance]] }) / 40
      assert_in_delta count, rows.sum { |row| row[C[:inuse_objects]] + row[C[:young_objects]] }, error * 6
    RUBY
  end

  # The tables are kept so small that their profile has room: once, and not a second time while its rows are made.
  def test_a_profile_takes_little_more_while_it_is_made
    assert_separately(["-W1", "--disable=gems", "--heap-sample=off,malloc=standby"], <<~'RUBY', timeout: 120)
      omit "malloc cannot be sampled" unless GC::SampleProfile.stat[:malloc] == :standby
      class Leaf; end
      GC::SampleProfile.start(interval: 1, malloc: true)
      makers = Array.new(5) do |i|
        host = Module.new
        200.times { |j| host.module_eval("def self.made_#{j} = Leaf.new", "/generated/#{i}.rb", j) }
        Array.new(200) { |j| host.method("made_#{j}") }
      end.flatten
      kept = Array.new(10) { GC.start; makers.map(&:call) }     # each line in ten GC cycles: a row for each
      before = GC::SampleProfile.stat
      profile = GC.sample_profile(full_gc: false)
      after = GC::SampleProfile.stat
      assert_operator profile.raw[:rows].size, :>, makers.size * kept.size
      assert_in_delta before[:bytes], before[:bytes_peak], 100_000      # so this profile made the peak
      assert_operator after[:bytes_peak] - before[:bytes], :<, (after[:bytes] - before[:bytes]) * 1.4
    RUBY
  end

  # The table of sites is shared by all sessions. Where the living fill it, samples are thinned, whose stacks are whole.
  def test_many_blocks_leave_the_stacks_of_the_living_whole
    assert_separately(["-W1", "--disable=gems"], <<~'RUBY', timeout: 120)
      def left(depth, path, &block) = depth.zero? ? yield : step(depth - 1, path, &block)
      def right(depth, path, &block) = depth.zero? ? yield : step(depth - 1, path, &block)
      def step(depth, path, &block) = path.odd? ? left(depth, path >> 1, &block) : right(depth, path >> 1, &block)
      class Item; end
      kept = []
      GC::SampleProfile.start(interval: 1, malloc: false)
      inside = lambda do |blocks|
        next GC.sample_profile(interval: 1 << 40, threads: :all) { inside[blocks - 1] } if blocks.positive?
        12_000.times { |path| kept << step(14, path) { Item.new } }
        GC.start
        raw = GC.sample_profile.raw
        top = lambda do |node|
          node = raw[:nodes][node * 2] until raw[:nodes][node * 2] == 0
          raw[:texts][raw[:frames][raw[:nodes][node * 2 + 1] * 5]]
        end
        rows = raw[:rows].select { |row| row[C[:class]] == raw[:texts].index("Item") && row[C[:inuse_samples]] > 0 }
        lost = rows.select { |row| top[row[C[:stack]]] == "(evicted)" }
        error = Math.sqrt(rows.sum { |row| row[C[:inuse_variance]] }) / GC.stat_heap(0, :slot_size)
        assert_in_delta 12_000, rows.sum { |row| row[C[:inuse_objects]] }, error * 6
        assert_operator error, :<, 1_000
        assert_operator lost.sum { |row| row[C[:inuse_objects]] }, :<, 600
      end
      inside[7]
    RUBY
  end

  # Lines that allocate again and again are known by name, however many others came in between.
  # Without YJIT, which retains what it compiled: less could be folded, and at a longer interval the counts are estimates.
  def test_folding_spares_what_allocates_often
    assert_separately([{"RUBY_YJIT_ENABLE" => nil}, "-W1", "--disable=gems"], <<~'RUBY', timeout: 120)
      class Leaf; end
      class Often; end
      def churn = Array.new(10) { Often.new }.clear
      GC::SampleProfile.start(interval: 1, malloc: false)
      40.times do |round|
        churn
        GC.start
        host = Module.new
        host.module_eval(Array.new(1000) { |i| "def self.made_#{i} = Leaf.new" }.join("\n"), "/generated/#{round}.rb", 1)
        1000.times { |i| host.send(:"made_#{i}") }
        GC.start
      end
      rows = GC.sample_profile.rows
      allocations = lambda do |class_name, label|
        rows.sum { |row| row.class_name == class_name && row.stack.any? { |frame| frame.label == label } ? row.alloc.objects : 0 }.round
      end
      assert_operator allocations["Leaf", "<main>"], :<, 35_000
      assert_equal 400, allocations["Often", "Object#churn"]
    RUBY
  end

  def test_an_exact_run_takes_the_memory_it_needs
    assert_separately(["-W1", "--disable=gems"], <<~'RUBY', timeout: 120)
      GC::SampleProfile.start(interval: 1, max_samples: nil)
      kept = Array.new(1_500_000) { Object.new }
      stat = GC::SampleProfile.stat
      assert_nil stat[:bytes_max]
      assert_equal 1, stat[:interval]
      assert_operator stat[:live_samples], :>=, kept.size
    RUBY
  end

  # A snapshot of more profiles than there is memory for says so, and the next one has room again.
  def test_profiles_that_are_held_have_a_share_of_their_own
    assert_separately(["-W1", "--disable=gems"], <<~'RUBY', timeout: 120)
      GC::SampleProfile.start(interval: 1)
      kept = Array.new(15_000) { Object.new }
      held = []
      error = assert_raise(NoMemoryError) { 1000.times { held << GC.sample_profile } }
      assert_match(/drop older profiles \(they use \d+ of \d+ bytes\)/, error.message)
      assert_operator held.size, :>, 3
      assert_operator GC::SampleProfile.stat[:bytes_peak], :<, 64 << 20
      more = Array.new(5_000) { Object.new }
      assert_equal 0, GC::SampleProfile.stat[:dropped_samples]
      held.clear
      10.times { GC.sample_profile }
    RUBY
  end

  def test_a_class_named_later_gets_its_name
    assert_separately(["-W1", "--disable=gems"], <<~'RUBY')
      GC::SampleProfile.start(interval: 1, max_samples: nil)
      anonymous = Class.new
      $keep = Array.new(10) { anonymous.new }
      names = -> { raw = GC.sample_profile.raw; raw[:rows].map { |row| raw[:texts][row[C[:class]]] } }
      assert_not_include names.call, "NamedLater"
      NamedLater = anonymous
      assert_include names.call, "NamedLater"
    RUBY
  end

  def test_finalizers_run_and_see_nothing
    assert_separately(["-W1", "--disable=gems"], <<~'RUBY')
      GC::SampleProfile.start(interval: 1, max_samples: nil)
      $run = 0
      100.times { ObjectSpace.define_finalizer(Object.new, proc { $run += 1 }) }
      2.times { GC.start }
      assert_operator $run, :>=, 98
      profile = GC.sample_profile
      profile.raw_samples.each { |sample| GC::SampleProfile.object_of(sample[0]) }
    RUBY
  end
end
