# frozen_string_literal: true

# GC.compact in this process, and the report of it.

require_relative "../../testing"
require "heapsample"

class CompactionTest < Test
  State = HeapSample::Compaction::State
  MIB = 1 << 20

  def compaction(rss_after, pins: [], later: nil, live: 20)
    before = State.new(100 * MIB, 1000, 40, live * MIB, 80 * MIB)
    HeapSample::Compaction.new(before: before, after: State.new(rss_after, 500, 40, live * MIB, 50 * MIB), later: later, considered: 9, moved: 7, seconds: 0.25, expected: 0.2, pins: pins)
  end

  test "the report says what came back, or that it was not worth the stop" do
    good = compaction(80 * MIB)
    assert_equal([20 * MIB, true, 500], [good.given_back, good.worth_it?, good.emptied_pages])
    assert_includes(good.to_s, "Compaction stopped Ruby code for 250 ms (expected: 200 ms), and moved 7 of 9 objects")
    assert_includes(good.to_s, "GC.compact gave back memory: RSS fell by 20.0 MiB.")
    bad = compaction(101 * MIB)
    assert_includes(bad.to_s, "It was not worth the stop: RSS rose by 1.0 MiB. 30.0 MiB are free in the heap for new objects.")
    refute(compaction(99.5.to_i * MIB).worth_it?)
    refute_includes(good.to_s, "Later")
    assert_includes(compaction(80 * MIB, live: 10).to_s.tr("\n", " "), "Later GCs give back more of the 500 pages that are empty now, while over 65% of all slots are free.")
  end

  test "what pins objects is named" do
    pins = HeapSample::Pins.of([{"name" => "C stack of Thread", "kind" => "stack", "class" => "Token", "path" => "/srv/app/worker.rb", "line" => 7, "holder" => ["(VM)"],
                                 "samples" => 9, "objects" => 9, "free" => 6 * MIB, "var" => 0}])
    assert_match(/a machine stack +Token .*worker\.rb:7/, compaction(90 * MIB, pins: pins).to_s)
  end

  test "this process is compacted, and its pinned objects are listed", missing: ("Ruby cannot compact here" unless GC.respond_to?(:compact)) do
    list = Array.new(100_000) { Object.new }.each_slice(40).map(&:first)
    ran = false
    result = HeapSample::Compaction.here { ran = true }
    assert(ran && list.size == 2500)
    assert_operator(result.moved, :>, 0)       # how many depends on what the tests before have left
    assert_operator(result.considered, :>=, result.moved)
    assert_operator(result.seconds, :>, 0)
    assert(result.later)
    pinned = result.pinned
    assert_operator(pinned.sum(&:objects), :>, 50)
    assert_equal(pinned.size, pinned.map { |group| [group.class_name, group.path, group.line] }.uniq.size)
    assert_includes(result.to_s, "Objects that could not be moved")
    assert_equal(result.moved, result.to_h[:moved])
  end
end
