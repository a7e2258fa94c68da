# frozen_string_literal: true

require "test/unit"
require "heapsample/test_unit"
require_relative "examples"

class HoldsTest < Test::Unit::TestCase
  setup { @shop = Examples::Shop.new }

  test "work retains nothing" do
    assert_retains_at_most(0, warmup: 1) { @shop.work }
  end

  test "what is returned is not retained" do
    assert_retains_at_most(0, warmup: 1) { Array.new(1000) { "text" * 50 } }
  end

  test "what was rescued is not retained" do
    assert_retains_at_most(0, warmup: 1) { @shop.fails }
  end

  test "bounded caches are no leak" do
    id = 0
    assert_no_leak { @shop.visit(id += 1) }
  end

  test "work is no leak" do
    assert_no_leak { @shop.work }
  end
end

class FailsTest < Test::Unit::TestCase
  test("a megabyte") { assert_retains_at_most(1000) { Examples::KEPT << "m" * 1_000_000 } }
  test("a leak") { assert_no_leak(warmup: 1, runs: 6) { Examples::KEPT << Object.new } }
end

class AllocatesTest < Test::Unit::TestCase
  setup { @shop = Examples::Shop.new }

  test("few") { assert_allocates_at_most(10_000) { @shop.work } }
  test("a small peak") { assert_peak_at_most(200 << 20) { @shop.work } }
  test("many") { assert_allocates_at_most(10) { @shop.work } }
  test("a large peak") { assert_peak_at_most(1 << 20) { Examples.megabytes(40) } }
end
