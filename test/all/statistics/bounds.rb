# frozen_string_literal: true

# How far a figure of so many trials may be from what it should be, by chance.
#
# A run compares some 350 figures. That one of them is beyond its bound by chance is to happen once in a million runs: each
# once in 300 million times, as what is normal is beyond six standard deviations. (With bounds of four, which look wide, one
# run in a hundred failed.)
module Bounds
  DEVIATIONS = 6
  CHANCE = 1e-9                 # of each side

  module_function

  # Of the ratio of a variance, as these trials have it, to what it should be; `excess`: the kurtosis of a trial beyond that
  # of the normal distribution. (Chi-square as Wilson and Hilferty approximate it.)
  def variance(trials, excess = 0)
    part = (2 + excess) / (9.0 * trials)
    low, high = [-1, 1].map { |side| [1 - part + side * DEVIATIONS * Math.sqrt(part), 0].max**3 }
    low..high
  end

  # The same of standard deviations.
  def spread(trials, excess = 0) = variance(trials, excess).then { |range| Math.sqrt(range.begin)..Math.sqrt(range.end) }

  # Of the share of trials that have what each has with a chance from `least` to `most`.
  def share(trials, least, most = 1)
    low = fewest(trials, least)
    high = trials - fewest(trials, 1 - most)
    low.fdiv(trials)..high.fdiv(trials)
  end

  def fewest(trials, chance)
    return 0 if chance.zero?
    return trials if chance == 1

    sum = 0
    (0..trials).find { |count| (sum += binomial(trials, count, chance)) > CHANCE }
  end

  def binomial(trials, count, chance)
    logarithm = ->(number) { Math.lgamma(number + 1)[0] }
    ways = logarithm[trials] - logarithm[count] - logarithm[trials - count]
    Math.exp(ways + count * Math.log(chance) + (trials - count) * Math.log(1 - chance))
  end

  def shown(range) = format("within %.3f to %.3f", range.begin, range.end)
end
