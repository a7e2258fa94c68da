# frozen_string_literal: false
require 'test/unit'

# At interval 1 every slot is sampled: each object that is allocated after the start has its
# sample, with the line that allocated it, for as long as it lives.
class TestHeapSamplerTruth < Test::Unit::TestCase
  # The columns of a row by name, in every script.
  def assert_separately(args, script, **options) = super(args, "C = GC::SampleProfile.raw_columns; " + script, **options)

  # Allocates one object of each builtin type and slot size into $keep, and its line into $line.
  HEAP = <<~'RUBY'
    GC::SampleProfile.start(interval: 1, max_samples: nil) unless GC::SampleProfile.running?
    $keep, $line = [], []
    Point = Struct.new(:x, :y, :z, :w)
    class Wide
      def initialize(n) = n.times { |i| instance_variable_set("@a#{i}", i) }
    end
    def keep(object, line) = ($keep << object; $line << line)

    keep(Object.new, __LINE__)
    keep(Wide.new(3), __LINE__)
    keep(Wide.new(70), __LINE__)
    keep("a" + "b", __LINE__)
    keep("long " * 3, __LINE__)
    keep("long " * 12, __LINE__)
    keep("long " * 28, __LINE__)
    keep("long " * 60, __LINE__)
    keep("long " * 120, __LINE__)
    keep("very long " * 1000, __LINE__)
    keep([1, 2, 3], __LINE__)
    keep([nil] * 8, __LINE__)
    keep([nil] * 70, __LINE__)
    keep({ a: 1 }, __LINE__)
    keep((0..20).to_h { [_1, _1] }, __LINE__)
    keep(Point.new(1, 2, 3, 4), __LINE__)
    keep(2**100, __LINE__)
    keep(1.1e300 * 1.0, __LINE__)
    keep(Complex(1, 2), __LINE__)
    keep(Rational(1, 2), __LINE__)
    keep(/a#{1}/, __LINE__)
    keep("abc".match(/b/), __LINE__)
    keep("sym#{$keep.size}".to_sym, __LINE__)
    keep(Class.new, __LINE__)
    keep(Module.new, __LINE__)
    keep(proc {}, __LINE__)
    keep(method(:puts), __LINE__)
    keep(File.open(IO::NULL), __LINE__)
    keep(Time.now, __LINE__)
    keep([1, 2].each, __LINE__)
    keep(Range.new($keep.size, nil), __LINE__)
    keep(Thread.new {}.join, __LINE__)
    keep(Set.new, __LINE__) if defined?(Set)
    keep(ObjectSpace::WeakMap.new, __LINE__)
    keep([2, 1].map { |n| n.to_s * 9 }.last, __LINE__)

    # Each kept object has its sample with its line; returns how many were looked at.
    def check(context)
      $keep.each_with_index do |object, i|
        stack = GC::SampleProfile.raw_stack_of(object)
        raise "#{context}: #{object.class} of line #{$line[i]} has no sample" unless stack
        label, path, absolute_path, line = stack.find { |frame| frame[1] == __FILE__ }
        raise "#{context}: #{object.class} of line #{$line[i]} has line #{line}" unless line == $line[i]
      end
      $keep.size
    end
  RUBY

  def assert_truth(script, args: [])
    assert_separately(["-W1", "--disable=gems", *args], "#{HEAP}\n#{script}", timeout: 120)
  end

  def test_every_type_and_slot_size
    assert_truth(<<~'RUBY')
      assert_operator check("at once"), :>, 30
      slots = GC.sample_profile.raw_samples.map { |sample| sample[4] }.uniq.sort
      assert_equal GC.stat_heap.map { |_, heap| heap[:slot_size] }, slots
      GC.start
      check("after GC.start")
      3.times { 50_000.times { "x" + "y" }; GC.start(full_mark: false) }
      check("after minor GCs")
    RUBY
  end

  def test_compaction
    omit "no compaction" unless GC.respond_to?(:compact)
    assert_truth(<<~'RUBY')
      GC.compact
      check("after GC.compact")
      GC.verify_compaction_references(expand_heap: true, toward: :empty)
      check("after verify_compaction_references")
      GC.compact
      check("after the second GC.compact")
      assert_equal 0, GC::SampleProfile.stat[:dropped_moves]
    RUBY
  end

  def test_auto_compact
    omit "no compaction" unless GC.respond_to?(:auto_compact=)
    assert_truth(<<~'RUBY')
      GC.auto_compact = true
      4.times do
        garbage = Array.new(30_000) { |i| i % 3 == 0 ? "s#{i}" : [i] }
        garbage.select!.with_index { |_, i| i % 7 == 0 }
        GC.start
        check("with auto_compact")
      end
    RUBY
  end

  def test_fork
    omit "no fork" unless Process.respond_to?(:fork)
    assert_truth(<<~'RUBY')
      pid = fork do
        check("in the child")
        GC.compact if GC.respond_to?(:compact)
        keep("made in the child" * 2, __LINE__)
        check("in the child, after GC.compact")
      end
      Process.wait(pid)
      assert_predicate $?, :success?
      GC.start
      check("in the parent")
    RUBY
  end

  def test_incremental_marking_and_stress
    assert_truth(<<~'RUBY')
      $old = Array.new(200_000) { |i| [i] }
      GC.start
      GC.start(full_mark: true, immediate_mark: false, immediate_sweep: false)
      300.times { |i| keep("during marking #{i}", __LINE__); [i] * 3 }
      check("during incremental marking")
      GC.stress = true
      5.times { keep("under stress" + "!", __LINE__) }
      GC.stress = false
      check("after GC.stress")
    RUBY
  end

  # A sample for each slot that was taken, and no other.
  def test_counts
    assert_separately(["-W1", "--disable=gems"], <<~'RUBY', timeout: 120)
      GC::SampleProfile.start(interval: 1, max_samples: nil)
      GC.disable
      measure = lambda do
        samples = GC::SampleProfile.stat[:samples_taken]
        slots = GC.stat(:total_allocated_objects)
        $keep = Array.new(10_000) { |i| [i, i.to_s, { i => i }] }
        slots = GC.stat(:total_allocated_objects) - slots
        [slots, GC::SampleProfile.stat[:samples_taken] - samples]
      end
      measure.call              # fills caches, which are objects too
      slots, samples = measure.call
      assert_equal slots + 3, samples   # the Hash of the first stat, and two Strings in it
      GC.enable
      GC.start
      live = GC::SampleProfile.stat[:live_samples]
      $keep = nil
      GC.start
      freed = live - GC::SampleProfile.stat[:live_samples]
      assert_in_delta 30_001, freed, 300
    RUBY
  end

  def test_no_sample_outlives_its_object
    assert_separately(["-W1", "--disable=gems"], <<~'RUBY', timeout: 120)
      class Short; end
      def make(n) = n.times { Short.new }
      GC::SampleProfile.start(interval: 1, max_samples: nil)
      make(10_000)
      GC.start
      # A stray reference on the machine stack may hold the last one.
      samples = GC.sample_profile.raw
      name = samples[:texts].index("Short")
      live = samples[:rows].select { |row| row[C[:class]] == name }.sum { |row| row[C[:inuse_samples]] + row[C[:young_samples]] }
      assert_operator live, :<=, 2
      freed = samples[:rows].select { |row| row[C[:class]] == name }.sum { |row| row[C[:freed_samples]] }
      assert_operator freed, :>=, 9_998
      assert_operator freed + live, :==, 10_000
    RUBY
  end

  def test_labels_are_those_of_a_backtrace
    assert_separately(["-W1", "--disable=gems"], <<~'RUBY', timeout: 60)
      module Outer
        class Inner
          def instance = yield
          def self.singleton = yield
          define_method(:defined) { |&block| block.call }
        end
        module_function def function = yield
      end
      def frames
        here = caller_locations(0)
        object = Object.new
        sampled = GC::SampleProfile.raw_stack_of(object)
        [here.map { |l| [l.label, l.path, l.absolute_path] }, sampled.drop(1).map { |f| f.first(3) }]
      end
      GC::SampleProfile.start(interval: 1, max_samples: nil)
      checks = {
        main: -> { frames },
        instance: -> { Outer::Inner.new.instance { frames } },
        singleton: -> { Outer::Inner.singleton { frames } },
        defined: -> { Outer::Inner.new.defined { frames } },
        function: -> { Outer.function { frames } },
        cfunc: -> { [1].each_slice(1) { return_value = frames; break return_value } },
        internal: -> { [1].map { frames }.first },
        nested: -> { [1].map { [2].map { frames }.first }.first },
        ensured: -> { begin; 1; ensure; break_value = frames; end; break_value },
        rescued: -> { begin; raise "x"; rescue; frames; end },
        evaluated: -> { eval("frames", binding, "(here)", 7) },
        sent: -> { send(:frames) },
        anonymous: -> { Class.new { def go = yield }.new.go { frames } },
        singleton_object: -> { o = Object.new; def o.go = yield; o.go { frames } },
      }
      checks.each do |name, check|
        expected, actual = check.call
        # The sampled stack begins in Class#new; the rest is the backtrace.
        assert_equal expected.map { |f| f.map(&:to_s) }, actual, name
      end
    RUBY
  end
end
