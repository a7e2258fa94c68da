# frozen_string_literal: true

require "minitest/autorun"
require "heapsample/minitest"
require_relative "examples"

class HoldsTest < Minitest::Test
  def setup = @shop = Examples::Shop.new

  def test_work_retains_nothing
    assert_retains_at_most(0, warmup: 1) { @shop.work }
  end

  def test_what_is_returned_is_not_retained
    assert_retains_at_most(0, warmup: 1) { Array.new(1000) { "text" * 50 } }
  end

  def test_what_was_rescued_is_not_retained
    assert_retains_at_most(0, warmup: 1) { @shop.fails }
  end

  def test_bounded_caches_are_no_leak
    id = 0
    assert_no_leak { @shop.visit(id += 1) }
  end

  def test_work_is_no_leak
    assert_no_leak { @shop.work }
  end
end

class FailsTest < Minitest::Test
  def test_megabyte = assert_retains_at_most(1000) { Examples::KEPT << "m" * 1_000_000 }
  def test_leak = assert_no_leak(warmup: 1, runs: 6) { Examples::KEPT << Object.new }
end

class AllocatesTest < Minitest::Test
  def setup = @shop = Examples::Shop.new

  def test_few = assert_allocates_at_most(10_000) { @shop.work }
  def test_small_peak = assert_peak_at_most(200 << 20) { @shop.work }
  def test_many = assert_allocates_at_most(10) { @shop.work }
  def test_large_peak = assert_peak_at_most(1 << 20) { Examples.megabytes(40) }
end
