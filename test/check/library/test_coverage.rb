# frozen_string_literal: true

# How often the 95% intervals hold the truth: 93 to 97% of the time where 20
# samples and more are expected, 93% and more below.
#
# For one weight the odds are computed, not simulated: no run of luck can pass
# or fail them.  Mixed weights are simulated with fixed seeds; in TRIALS trials
# the share of hits has a standard deviation of 1.5% (0.15% with SLOW=1), and
# the margin below is three of them.

require "heapsample"
require_relative "../../testing"

class CoverageTest < Test
  include HeapSample

  TRIALS = SLOW ? 20_000 : 200
  MARGIN = 3 * Math.sqrt(0.95 * 0.05 / TRIALS)
  SEED = 20_260_101

  def estimate_of(samples, probability, size)
    weight = 1 / probability
    Estimate.new(samples, samples * weight, samples * weight * size, samples * weight * (weight - 1) * size * size,
                 samples * weight * (weight - 1))
  end

  def exact_coverage(count, probability)
    @intervals ||= {}
    intervals = @intervals[probability] ||= Hash.new do |known, samples|
      known[samples] = estimate_of(samples, probability, 40).space_interval(unit: 40 / probability)
    end
    truth = count * 40
    (0..[count, 400].min).sum do |samples|
      low, high = intervals[samples]
      next 0 unless truth.between?(low - 1e-6, high + 1e-6)

      Math.exp(Math.lgamma(count + 1)[0] - Math.lgamma(samples + 1)[0] - Math.lgamma(count - samples + 1)[0] +
               samples * Math.log(probability) + (count - samples) * Math.log(1 - probability))
    end
  end

  def expected_samples(from, to)
    step = SLOW ? 1.003 : 1.03
    Enumerator.produce(from) { |value| value * step }.take_while { |value| value < to }
  end

  [7.6e-5, 0.01, 0.1, 0.5].each do |probability|
    test "coverage is 93% and more below 20 expected samples, at p = #{probability}" do
      expected_samples([0.05, probability].max, 20.0).each do |expected|
        coverage = exact_coverage((expected / probability).round, probability)
        assert(coverage >= 0.93, "#{coverage} where #{expected} are expected")
      end
    end

    test "coverage is 93 to 97.1% from 20 expected samples on, at p = #{probability}" do
      expected_samples(20.0, 250.0).each do |expected|
        coverage = exact_coverage((expected / probability).round, probability)
        assert(coverage.between?(0.93, 0.971), "#{coverage} where #{expected} are expected")
      end
    end
  end

  test "coverage is 93% and more where nearly all objects are sampled" do
    [0.8, 0.9, 0.99].each do |probability|
      (1..150).each do |count|
        coverage = exact_coverage(count, probability)
        assert(coverage >= 0.93, "#{coverage} of #{count} at p = #{probability}")
      end
    end
  end

  # Poisson or, where p is not small, binomial counts.
  class Draw
    def initialize(seed) = @random = Random.new(seed)

    def samples(count, probability)
      return (0...count).count { @random.rand < probability } if count <= 200 || probability > 0.3

      taken = 0
      at = -1
      miss = Math.log(1 - probability)
      loop do
        at += 1 + (Math.log(1 - @random.rand) / miss).floor
        return taken if at >= count

        taken += 1
      end
    end
  end

  # A mixture: [slot size, objects] of each part.
  def simulate_mixture(parts, interval, seed = SEED)
    draw = Draw.new(seed)
    bytes = parts.sum { |size, count| size * count }
    objects = parts.sum { |_, count| count }
    hits = [0, 0]
    TRIALS.times do
      estimate = Estimate.new
      parts.each do |size, count|
        probability = 1 - Math.exp(-size / interval.to_f)
        estimate.add(estimate_of(draw.samples(count, probability), probability, size))
      end
      low, high = estimate.space_interval(unit: interval)
      hits[0] += 1 if bytes.between?(low - 1e-6, high + 1e-6)
      next if estimate.samples.zero?

      low, high = estimate.objects_interval
      hits[1] += 1 if objects.between?(low - 1e-6, high + 1e-6)
    end
    hits.map { |count| count / TRIALS.to_f }
  end

  SLOTS = [40, 80, 160, 320, 640].freeze

  # Objects of all sizes, the same bytes of each.
  def even_mixture(expected, interval)
    SLOTS.map { |size| [size, (expected / 5.0 / (1 - Math.exp(-size / interval.to_f))).round] }
  end

  [3, 8, 15, 20, 30, 50, 120].each do |expected|
    test "bytes of mixed slot sizes are covered, #{expected} samples expected" do
      [512 * 1024, 4096].each do |interval|
        coverage, = simulate_mixture(even_mixture(expected, interval), interval)
        high = expected >= 20 ? 0.97 + MARGIN : 1
        assert(coverage.between?(0.93 - MARGIN, high), "#{coverage} at an interval of #{interval}")
      end
    end
  end

  [20, 50, 120].each do |expected|
    test "objects of mixed slot sizes are covered, #{expected} samples expected" do
      _, coverage = simulate_mixture(even_mixture(expected, 512 * 1024), 512 * 1024)
      assert(coverage >= 0.90, "#{coverage}")
    end
  end

  test "bytes are covered where large slots are nearly all sampled and small ones are not" do
    [[[40, 40], [640, 4]], [[40, 400], [640, 40]], [[40, 30], [80, 30], [640, 30]]].each do |parts|
      coverage, = simulate_mixture(parts, 256)
      assert(coverage >= 0.93 - MARGIN, "#{coverage} for #{parts}")
    end
  end

  # Growth: allocated and freed samples of one process, both Poisson.
  test "growth is covered with few and many samples on either side" do
    draw = Draw.new(SEED + 1)
    probability = 40 / (512 * 1024.0)
    [[5, 5], [20, 3], [40, 40], [100, 10]].each do |allocated, freed|
      counts = [allocated, freed].map { |expected| (expected / probability).round }
      truth = (counts[0] - counts[1]) * 40
      trials = TRIALS / 4
      hits = trials.times.count do
        group = GrowthGroup.new(nil)
        counts.zip([group.gained, group.lost]) do |count, side|
          side.add(estimate_of(draw.samples(count, probability), probability, 40))
        end
        low, high = group.space_interval
        truth.between?(low, high)
      end
      coverage = hits / trials.to_f
      assert(coverage >= 0.93 - 2 * MARGIN, "#{coverage} for #{allocated} allocated and #{freed} freed")
    end
  end
end
