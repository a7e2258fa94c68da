# frozen_string_literal: true

require_relative "draws"
require_relative "service"

# How small a leak is found, and after how many points: leaks that are even, below noise that is normal or comes in spikes.
class Curves
  # One point of a curve: the number of points after which half and 95% of the runs had been called leaks; nil: not within +most+.
  Point = Struct.new(:half, :nearly_all, :formula, keyword_init: true)

  RATIOS = [0.03, 0.3, 1, 3, 10, 30, 100, 300].freeze # noise of a point by growth of a point
  HOURLY = [0.3, 1, 3, 10, 30, 100].freeze            # growth in an hour, % of RSS
  EVERY = [2, 10, 60].freeze                          # seconds between points
  NOISE = [1e-5, 1e-4, 1e-3].freeze                   # of a point, as a share of RSS: quiet, usual, busy
  SPIKES = 0.3                                        # of the points, in the curve with spikes
  MOST = 2000                                         # points of a run
  RSS = 100 << 20
  FIRST = 17 # points: an all-clear

  # +verdict+: a block that makes a verdict from a floor. +runs+: for each point of a curve. +most+: points of a run.
  def initialize(runs:, seed:, most: MOST, &verdict)
    @runs, @seed, @most, @verdict = runs, seed, most, verdict
  end

  # Ratio of noise to growth => Point. The floor is out of the way.
  def by_noise(spikes: 0)
    RATIOS.to_h { |ratio| [ratio, point(rate: 1.0, noise: ratio, floor: 0, spikes: spikes, formula: formula(ratio))] }
  end

  # [every, noise as a share of RSS] => { growth in an hour, in % of RSS => Point }
  def by_hour
    EVERY.product(NOISE).to_h do |every, noise|
      points = HOURLY.to_h do |percent|
        rate = RSS * percent / 100 * every / 3600
        floor = Service::FLOOR * RSS
        [percent, point(rate: rate, noise: noise * RSS, floor: floor, every: every, formula: [formula(noise * RSS / rate), floor / (0.75 * rate)].max)]
      end
      [[every, noise], points]
    end
  end

  # Points after which 95% of such leaks are expected to be found, by DESIGN's law of power.
  def formula(ratio) = [(200.0 * ratio)**(2 / 3.0), FIRST].max

  private

  def point(formula:, **leak)
    return Point.new(formula: formula.round) if formula > @most

    found = Array.new(@runs) { |run| points_until_found(Draws.new(Zlib.crc32("#{leak} #{@seed} #{run}")), [@most, 4 * formula].min.ceil, **leak) }
    found = found.compact.sort
    Point.new(half: found[(0.5 * @runs).ceil - 1], nearly_all: found[(0.95 * @runs).ceil - 1], formula: formula.round)
  end

  def points_until_found(draws, most, rate:, noise:, floor:, every: 2, spikes: 0)
    verdict = @verdict.call(floor)
    size = 0.8 * RSS
    (1..most).find do |n|
      extra = spikes.positive? && draws.chance?(spikes) ? 8 * noise * draws.exponential : 0
      verdict.add(Service::Point.new(n * every.to_f, n * 100_000, size + rate * n + noise * draws.normal + extra))
      verdict.state == :leak
    end
  end
end
