# frozen_string_literal: false
require 'test/unit'

# What pins the objects that hold free memory of heap pages, so that GC.compact cannot move them: GC.sample_profile(why: true) shows it
# (src/heap_sampler/heap_walk/walk.h).
class TestHeapSamplerPins < Test::Unit::TestCase
  PRELUDE = <<~'RUBY'
    require "heapsample"
    require "-test-/heap_sampler_holders"
    C = GC::SampleProfile.raw_columns
    class Survivor; end
    def page_of(object) = Kernel.instance_method(:to_s).bind_call(object)[/0x\h+/].hex >> 16
    # One object of each heap page, in lists of so many.
    def survivors(lists, each = 10)
      seen = {}
      all = Array.new((lists * each + 5) * 1700) { Survivor.new }
      found = all.select { |object| page = page_of(object); !seen[page] && seen[page] = true }.each_slice(each).first(lists)
      all.clear
      raise "too few pages" unless found.size == lists && found.last.size == each
      found
    end
    def apart(&block) = Thread.new(&block).join         # nothing old stays on this machine stack
    def settle = (50.times { [].push(*1..40).sum }; 3.times { GC.start })
    # Of survivors: [reference, kind, path and line, holder] => objects
    class Pinned
      attr_reader :pins, :pinned
      def initialize
        raw = GC.sample_profile(why: true).raw
        kept = HeapSample::MetaMessage.decode(raw[:meta_message]).fetch("kept")
        raise kept["refused"] if kept["refused"]
        @all = kept.fetch("pins")
        @pins = @all.select { |pin| pin["class"] == "Survivor" }
        @pinned = raw[:rows].sum { |row| row[C[:holds_free_pinned]] }
      end
      def gone = @all.select { |pin| pin["name"] == "(no pin any more)" }
      def sum = @all.sum { |pin| pin["free"] }
      def of(name) = @pins.select { |pin| name === pin["name"] }
      def objects(name) = of(name).sum { |pin| pin["objects"] }
      def inspect = @pins.inspect
    end
  RUBY

  def assert_pins(script, settings: "interval: 1, max_samples: nil")
    assert_separately(["-W1", "--disable=gems"], "#{PRELUDE}GC::SampleProfile.start(#{settings})\n#{script}", timeout: 120)
  end

  def test_what_c_code_pins
    assert_pins(<<~'RUBY')
      apart do
        sure, maybe, (address,), (object,) = survivors(4)
        PINS = [Bug::Pins.pin(sure, false), Bug::Pins.pin(maybe, true)]
        Bug::Pins.register_address(address)
        Bug::Pins.register_object(object)
      end
      settle
      pins = Pinned.new
      type = "data of Bug::Pins (Bug::Pins in heap_sampler_holders.so)"
      assert_equal 20, pins.objects(type), pins.inspect
      assert_equal [["data", ["(constants)", "PINS", "[] of Array"]]], pins.of(type).map { |pin| pin.values_at("kind", "holder") }.uniq
      assert_equal [1, "address"], [pins.objects("heap_sampler_holders_registered in heap_sampler_holders.so"), pins.of(/registered/).first["kind"]], pins.inspect
      assert_equal 1, pins.objects(/pin_array_list/), pins.inspect
      # Where the objects were made.
      assert_equal [["Object#survivors", __FILE__]], pins.of(type).map { |pin| pin.values_at("made_in", "made_path") }.uniq
    RUBY
  end

  def test_machine_stacks_and_where_their_threads_stand
    assert_pins(<<~'RUBY')
      list, other = nil
      threads = []
      apart do
        (list, other) = survivors(2)
        threads << Thread.new(list) { |mine| Bug::Pins.on_machine_stack(mine) { sleep } }
        Thread.pass until threads[0].stop?
        threads << Thread.new(other) { |mine| Fiber.new { Bug::Pins.on_machine_stack(mine) { Fiber.yield } }.tap(&:resume).then { |fiber| sleep; fiber } }
        Thread.pass until threads[1].stop?
        list = other = nil
      end
      settle
      pins = Pinned.new
      line = __LINE__ - 8
      stacks = pins.of(/^C stack of /)
      assert_equal [["C stack of Thread", line, 10], ["C stack of Fiber", line + 2, 10]],
                   stacks.group_by { |pin| pin["name"] }.map { |name, some| [name, some[0]["line"], some.sum { |pin| pin["objects"] }] }.sort.reverse, pins.inspect
    RUBY
  end

  # Values of a frame are pinned too. What they are called goes before a copy on the machine stack.
  def test_variables_of_running_code
    assert_pins(<<~'RUBY')
      def hold(objects, at = 0)
        return sleep if at == objects.size
        held = objects[at]
        hold(objects, at + 1)
        held
      end
      thread = nil
      apart do
        thread = Thread.new(survivors(1)[0]) { |list| hold(list.dup.freeze) }
        Thread.pass until thread.stop?
      end
      settle
      pins = Pinned.new
      assert_equal 10, pins.objects("local held of Object#hold"), pins.inspect
      assert_equal ["local"], pins.of(/held/).map { |pin| pin["kind"] }.uniq
    RUBY
  end

  def test_keys_of_a_hash_that_compares_by_identity
    assert_pins(<<~'RUBY')
      module Cache
        KEYS = {}.compare_by_identity
        VALUES = {}.compare_by_identity
      end
      apart do
        keys, values = survivors(2)
        keys.each { |object| Cache::KEYS[object] = object }         # a value as well, which is not pinned
        values.each { |object| Cache::VALUES[object.to_s] = object }
      end
      settle
      pins = Pinned.new
      assert_equal [["{} key of Hash", "key", ["(constants)", "Cache::KEYS"]]], pins.of(/Hash/).map { |pin| pin.values_at("name", "kind", "holder") }.uniq
      assert_equal 10, pins.objects("{} key of Hash"), pins.inspect
      assert_operator pins.pins.sum { |pin| pin["objects"] }, :<=, 12, pins.inspect
    RUBY
  end

  # The pins have what the rows have, of all objects, and most are still there.
  def test_pins_add_up_to_what_is_pinned
    assert_pins(<<~'RUBY', settings: "interval: 100, max_samples: nil, seed: 3")
      PINS = []
      apart { PINS << Bug::Pins.pin(survivors(1, 60)[0], false) }
      require "set"
      settle
      pins = Pinned.new
      assert_operator pins.pinned, :>, 500_000
      assert_in_delta pins.pinned, pins.sum, 1 + pins.pins.size
      # What the last major GC found on the machine stack of `settle` may be gone.
      assert_empty pins.gone.reject { |pin| pin["made_in"] == "Object#settle" }
    RUBY
  end

  def test_a_pin_that_is_gone_since_the_last_major_gc
    assert_pins(<<~'RUBY')
      KEPT = []
      PINS = []
      apart { KEPT.replace(survivors(1)[0]); PINS << Bug::Pins.pin(KEPT, false) }
      settle
      assert_equal 10, Pinned.new.objects(/Bug::Pins/)
      PINS.clear
      pins = Pinned.new
      assert_equal 0, pins.objects(/Bug::Pins/), pins.inspect
      assert_operator pins.gone.sum { |pin| pin["objects"] }, :>=, 10
    RUBY
  end

  # Where pins are not requested, chains and counts are the same as before.
  def test_chains_do_not_change
    assert_pins(<<~'RUBY')
      LIST = []
      PINS = []
      apart { LIST.concat(survivors(1)[0]); PINS << Bug::Pins.pin(LIST, false) }
      settle
      raw = GC.sample_profile(why: true).raw
      rows = raw[:rows]
      kept = Hash.new(0.0)
      raw[:kept].each_slice(5) { |row, _, _, space, _| kept[row] += space }
      rows.each_with_index { |row, index| assert_in_delta row[C[:inuse_space]] + row[C[:young_space]], kept[index], 1e-6 }
      nodes = raw[:holders].each_slice(10).to_a
      list = nodes.find { |_, _, name,| raw[:texts][name] == "LIST" } or raise "no list"
      assert_equal 1, list[6]
    RUBY
  end
end
