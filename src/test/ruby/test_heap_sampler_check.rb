# frozen_string_literal: false
require 'test/unit'

# The invariants that a check build asserts (heap_sampler/check.h): they hold, and the check
# would say so if they did not.
class TestHeapSamplerCheck < Test::Unit::TestCase
  def setup
    omit "no check build" unless GC::SampleProfile.respond_to?(:check)
  end

  # Records on many pages, of several types and stacks; some of them freed, some moved.
  HEAP = <<~'RUBY'
    $keep = []
    add = ->(n) { $keep << "a" * n << [n] * n << { n => n } << Object.new }
    2_000.times { |i| add.(i % 50) }
    $keep = $keep.each_slice(3).map(&:first)
    $large = Array.new(200) { "a" * 10_000 }
    GC.start
  RUBY

  def assert_holds(script, args: ["--heap-sample=interval=1,max-samples=none,output=none"])
    assert_separately(["-W1", "--disable=gems", *args], "#{HEAP}\n#{script}", timeout: 300)
  end

  def test_records_are_looked_at
    assert_holds('assert_operator GC::SampleProfile.check, :>, 1_000')
  end

  def test_nothing_is_looked_at_when_nothing_is_sampled
    assert_separately(["--disable=gems"], 'assert_equal 0, GC::SampleProfile.check')
  end

  def test_after_moves
    omit "compaction is not supported" unless GC.respond_to?(:compact)
    assert_holds(<<~'RUBY')
      GC.compact
      GC.verify_compaction_references(toward: :empty, expand_heap: true)
      assert_operator GC::SampleProfile.check, :>, 1_000
    RUBY
  end

  def test_between_starts_and_stops
    assert_holds(<<~'RUBY', args: [])
      3.times do |i|
        GC::SampleProfile.start(interval: 64 << i)
        GC.sample_profile(interval: 16) { GC::SampleProfile.check; 500.times { add.(3) } }
        GC::SampleProfile.stop
        assert_equal 0, GC::SampleProfile.check
      end
    RUBY
  end

  def test_at_the_cap
    assert_holds('4_000.times { add.(2) }; assert_operator GC::SampleProfile.check, :<, 1_000',
                 args: ["--heap-sample=interval=1,max-samples=1000,output=none"])
  end

  def test_in_a_child
    assert_holds(<<~'RUBY')
      pid = fork { add.(9); GC.start; exit!(GC::SampleProfile.check > 1_000) }
      assert_predicate Process.wait2(pid)[1], :success?
      GC::SampleProfile.check
    RUBY
  end

  def test_while_ractors_allocate
    assert_holds(<<~'RUBY', args: ["-W0", "--heap-sample=interval=64,output=none"])
      others = Array.new(2) { Ractor.new { 20_000.times { "a" * 100 } } }
      10.times { GC::SampleProfile.check }
      others.each(&:take)
    RUBY
  end

  # What is damaged, and the message of the check.
  {
    "count" => /\d+ records, counted \d+/,
    "slot" => /is not in use|two records of slot|slot \d+ is indexed/,
    "table" => /has a table and no sample/,
    "owner" => /does not own its table/,
    "type" => /is now of type/,
    "session" => /session 0: \d+ records, counted \d+/,
    "epoch" => /epoch \d+: \d+ records, counted \d+/,
    "site" => /record \d+: site \d+ of \d+/,
    "node" => /site \d+: node \d+ of \d+/,
    "frame" => /node \d+: frame \d+ of \d+/,
    "freed frame" => /\d+ frames, \d+ found by their texts/,
    "freed text" => /frame \d+: texts/,
    "allocations" => /0 allocations, \d+ frees, \d+ live/,
    "malloc" => /site \d+: node \d+ of \d+/,
  }.each do |what, message|
    define_method("test_a_wrong_#{what.tr(' ', '_')}_is_found") do
      omit "needs jemalloc" if what == "malloc" && GC::SampleProfile.memory[:malloc_metadata].to_i.zero?
      args = ["--disable=gems", "--heap-sample=interval=1,max-samples=none,malloc=4k,output=none", "-e",
              "#{HEAP}; GC::SampleProfile.check; $stderr.puts 'sound'; GC::SampleProfile.spoil(#{what.dump}); GC::SampleProfile.check"]
      _, err, status = EnvUtil.invoke_ruby(args, "", true, true, timeout: 300, rlimit_core: 0)
      first, said = err.lines.first(2)         # the rest is MRI's report of the crash
      assert_equal("sound\n", first)
      assert_match(/\[BUG\] heap sampler: .*#{message}/, said)
      assert_not_predicate status, :success?
    end
  end
end
