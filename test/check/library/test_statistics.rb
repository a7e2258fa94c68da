# frozen_string_literal: true

# Poisson, one unit a sample: weights so large that p hardly matters.

require "heapsample"
require_relative "../../testing"

class StatisticsTest < Test
  include HeapSample

  def poisson_interval(samples)
    weight = 1e7
    Statistics.interval(total: samples * weight, variance: samples * weight * (weight - 1), size: 1, unit: weight)
              .map { |limit| limit / weight }
  end

  test "an interval without samples runs from 0 to ln(OBSERVED / 0.025) units" do
    low, high = poisson_interval(0)
    assert_equal(0.0, low)
    assert_close(Math.log(0.7 / 0.025), high, 1e-6)
  end

  test "no samples and no unit: nothing can be said to exist" do
    assert_equal([0.0, 0.0], Statistics.interval(total: 0, variance: 0, size: 1))
  end

  test "the limits solve the equation that defines them" do
    tail = lambda do |mean, count, share|
      terms = (0..count).map { |k| Math.exp(k * Math.log(mean) - mean - Math.lgamma(k + 1)[0]) }
      1 - terms.sum + share * terms.last
    end
    [1, 2, 5, 19].each do |count|
      low, high = poisson_interval(count)
      assert_close(0.025, tail[low, count, 0.7], 1e-5)
      assert_close(0.975, tail[high, count, 0.3], 1e-5)
    end
  end

  test "where all objects are sampled the interval is the point" do
    assert_equal([400.0, 400.0], Statistics.interval(total: 400, variance: 0, size: 40))
  end

  test "an interval cannot end below what was seen" do
    weight = 1.25
    low, = Statistics.interval(total: 5 * weight * 40, variance: 5 * weight * 0.25 * 1600, size: 40)
    assert(low >= 5 * 40 - 1e-6, "#{low} is below 200")
  end

  test "with many samples the interval tends to the normal one" do
    low, high = Statistics.interval(total: 1e6, variance: 1e6, size: 1e-9)
    assert_close(1e6 - 1.96 * 1e3, low, 1e-5)
    assert_close(1e6 + 1.96 * 1e3, high, 1e-5)
  end

  test "the interval of bytes and that of objects are in proportion for one slot size" do
    bytes = Statistics.interval(total: 7 * 100 * 40, variance: 7 * 100 * 99 * 1600, size: 40)
    objects = Statistics.interval(total: 7 * 100, variance: 7 * 100 * 99, size: 1)
    bytes.zip(objects) { |limit, count| assert_close(limit, count * 40) }
  end

  test "the exact and the score interval meet" do
    below = poisson_interval(Statistics::EXACT_BELOW - 1)
    above = poisson_interval(Statistics::EXACT_BELOW)
    below.zip(above) { |limit, next_limit| assert((next_limit - limit).between?(0.5, 1.6), "#{limit}, then #{next_limit}") }
  end

  test "a difference takes each side's error from where it matters" do
    low, high = Statistics.difference(100, [90, 115], 40, [30, 60])
    assert_close(60 - Math.hypot(10, 20), low)
    assert_close(60 + Math.hypot(15, 10), high)
  end
end
