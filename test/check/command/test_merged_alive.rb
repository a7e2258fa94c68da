# frozen_string_literal: true

require "heapsample/tool"
require_relative "../../testing"

class MergedAliveTest < Test
  MergedAlive = HeapSample::Tool::MergedAlive

  def population(count, stacks, **made)
    {"count" => count, "sleeping" => count, "stacks" => stacks,
     "made" => made.map { |path, number| {"path" => path.to_s, "line" => 3, "count" => number, "sleeping" => number, "stacks" => 100} }}
  end

  def merged(*values) = MergedAlive.new.tap { |sum| values.each { |one| sum.add(one) } }.to_h

  test "threads and fibers of several processes: sums, by the place where they were made" do
    one = {"threads" => population(5, 500, a: 2, b: 3), "fibers" => population(0, 0)}
    other = {"threads" => population(7, 700, b: 6, c: 1), "fibers" => population(1, 10, f: 1)}
    all = merged(one, other)
    assert_equal([12, 12, 1200], all["threads"].values_at("count", "sleeping", "stacks"))
    assert_equal([["b", 3, 9], ["a", 3, 2], ["c", 3, 1]], all["threads"]["made"].map { |place| place.values_at("path", "line", "count") })
    assert_equal([1, 10], all["fibers"].values_at("count", "stacks"))
  end

  test "what one does not know is not known of all" do
    one = {"threads" => population(5, nil), "fibers" => population(0, 0)}
    assert_equal([10, nil], merged(one, {"threads" => population(5, 3), "fibers" => population(0, 0)})["threads"].values_at("count", "stacks"))
    assert_nil(merged(one, nil))
    assert_nil(merged(one, {"threads" => 3}))
    assert_nil(merged)
  end

  test "64 places at most, and what is left" do
    many = {"threads" => population(5050, 1, **(1..100).to_h { |i| [:"f#{i}", i] }), "fibers" => population(0, 0)}
    made = merged(many, many)["threads"]["made"]
    assert_equal([65, "(other)", nil, 10_100], [made.size, *made.last.values_at("path", "line"), made.sum { |one| one["count"] }])
    assert_equal(["f100", 200], made.first.values_at("path", "count"))
  end
end
