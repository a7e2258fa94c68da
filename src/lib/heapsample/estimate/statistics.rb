# frozen_string_literal: true

module HeapSample
  # Intervals for quantities that were estimated from a sample.
  #
  # The model: a population of N objects of S bytes; each is sampled with
  # probability p, independently of the others, and stands for w = 1/p objects.
  # Of n samples, the total is estimated as n*w*S and its variance as
  # n*w*(w-1)*S**2, both without bias (Horvitz & Thompson 1952, "A
  # generalization of sampling without replacement from a finite universe",
  # for Poisson sampling).  Totals and variances of different objects add.
  #
  # An interval asks for which N the observed n is not surprising.  Rows with
  # several weights or sizes have no single N and p; they are treated as the
  # one-weight population that has the same total t, the same variance v and
  # the same mean size s:
  #
  #   effective weight    w' = 1 + v / (t*s)
  #   effective samples   n' = t / (w'*s)
  #
  # For one weight and one size this gives back w and n, exactly.  When p is
  # small, n' is t**2/v: the effective count that Fay & Feuer (1997, Statistics
  # in Medicine 16:791-801) use for weighted sums of Poisson counts, and Fay &
  # Kim (2017, Biometrical Journal 59:377-387) with mid-P.  Sampling is by
  # bytes, so w*S is about T + S/2 for any S below the sampling interval T:
  # for bytes the weights hardly differ, and the choice matters for objects
  # only, where w is about T/S.
  #
  # Two intervals are used:
  #
  # - Below EXACT_BELOW effective samples, the N for which
  #   P(X > n) + OBSERVED * P(X = n), X binomial(N, p), lies between 2.5% and
  #   97.5%.  OBSERVED = 1/2 is the mid-P interval (Lancaster 1961, JASA
  #   56:223-234), OBSERVED = 1 the exact one of Clopper & Pearson (1934,
  #   Biometrika 26:404-413), which covers 98% and more when few samples are
  #   expected.  Mid-P covers 95% on average, but 91.7% where 3 samples are
  #   expected; 0.7 never less than 93% (test/check/library/test_coverage.rb computes
  #   both), for a seventh more width at no sample and 2% more at 20.  With
  #   p small all this is about a Poisson mean.
  # - From there on the score interval: the totals T with
  #   (t - T)**2 <= z**2 * T*c, where c = v/t is the variance per byte
  #   (Wilson 1927, JASA 22:209-212; for Poisson means, Byrne & Kabaila 2005,
  #   Communications in Statistics 34:545-556).  The plain normal interval
  #   t +- z*sqrt(v) takes the variance from the estimate, so it is too narrow
  #   whenever that lies too low, and misses on one side only; the score
  #   interval does not, costs the same, and tends to the normal one.
  #
  # At p = 1 the variance is 0 and the interval is a point.  So it is where p is
  # as good as 1: blocks of 10 MB sampled once in 512 KiB are all seen but for one
  # in 200 million.
  #
  # No method here reads a file, prints or keeps state.
  module Statistics
    CONFIDENCE = 0.95
    Z = 1.959963984540054               # normal quantile of 0.975
    TAIL = (1 - CONFIDENCE) / 2
    EXACT_BELOW = 100                   # below, the score interval can miss 7%
    EXACT_ERROR = 1e-4                  # a standard error that is a smaller part of the total is none
    OBSERVED = 0.7                      # share of P(X = n) that counts as "as far or farther"

    module_function

    # call-seq:
    #   interval(total:, variance:, size:, unit: 0.0) -> [Float, Float]
    #
    # The 95% interval of an estimated +total+ with +variance+.  +size+ is what
    # one object adds to the true total: the mean slot size for bytes, 1 for
    # objects.  +unit+ is what one sample would stand for, and is used only when
    # there was none: then the interval is <tt>[0, about 3.3 * unit]</tt>.
    def interval(total:, variance:, size:, unit: 0.0)
      return [0.0, none_seen(unit, size)] unless total > 0
      return [total.to_f, total.to_f] if variance <= (EXACT_ERROR * total)**2 || !(size > 0)

      weight = 1 + variance / (total * size.to_f)
      count = total / (weight * size)
      if count < EXACT_BELOW
        exact(count, weight).map { |objects| objects * size }
      else
        score(total.to_f, variance / total.to_f)
      end
    end

    # call-seq:
    #   proportion(share, total:, variance:, size:) -> [Float, Float]
    #
    # The 95% interval of the +share+ of an estimated +total+ that has some
    # property: each sample has it or not. So it is a binomial proportion of n' effective
    # samples, whose score interval is taken (Wilson 1927, JASA
    # 22:209-212).
    def proportion(share, total:, variance:, size:)
      return [share, share] if !(total > 0) || !(size > 0) || variance <= (EXACT_ERROR * total)**2

      step = Z * Z * (1 + variance / (total * size.to_f)) * size / total     # z**2 / n'
      centre = (share + step / 2) / (1 + step)
      spread = Math.sqrt(share * (1 - share) * step + step * step / 4) / (1 + step)
      [[centre - spread, 0.0].max, [centre + spread, 1.0].min]
    end

    # call-seq:
    #   difference(gain, gain_interval, loss, loss_interval) -> [Float, Float]
    #
    # The 95% interval of <tt>gain - loss</tt>, two independent estimates with
    # intervals of their own, by the "method of variance estimates recovery"
    # (Zou & Donner 2008, Statistics in Medicine 27:1693-1702): the distances
    # to the limits are added as standard errors are, each from the side where
    # it matters, so that intervals that are not symmetric stay so.
    def difference(gain, gain_interval, loss, loss_interval)
      gain_low, gain_high = gain_interval
      loss_low, loss_high = loss_interval
      [gain - loss - Math.hypot(gain - gain_low, loss_high - loss),
       gain - loss + Math.hypot(gain_high - gain, loss - loss_low)]
    end

    # call-seq:
    #   p_value(value, low, high) -> Float
    #
    # How often noise alone would be as far from 0 as +value+, an estimate with that
    # 95% interval, of which the side towards 0 counts: two-sided, by the normal
    # distribution.
    def p_value(value, low, high)
      distance = value > 0 ? value - low : high - value
      return value.zero? ? 1.0 : 0.0 unless distance > 0

      Math.erfc(Z * value.abs / distance / Math.sqrt(2))
    end

    # call-seq:
    #   discoveries(p_values, level: 0.05) -> Array of true and false
    #
    # Which of many rows are not noise. Of the rows that it returns as such, 5% (the
    # +level+) are wrong on average (Benjamini & Hochberg 1995, Journal of the Royal Statistical
    # Society B 57:289-300): the k smallest, for the largest k whose p value is at most
    # level * k / n.  Of one row it is the usual test.
    def discoveries(p_values, level: 1 - CONFIDENCE)
      order = p_values.each_index.sort_by { |index| p_values[index] }
      last = order.each_index.select { |rank| p_values[order[rank]] <= level * (rank + 1) / order.size }.last || -1
      found = Array.new(p_values.size, false)
      order[0..last].each { |index| found[index] = true } if last >= 0
      found
    end

    # Totals whose score statistic lies within +-Z; +step+ is variance per unit.
    def score(total, step)
      centre = total + Z * Z * step / 2
      spread = Z * Math.sqrt(total * step + Z * Z * step * step / 4)
      [centre - spread, centre + spread]
    end

    # Numbers of objects for which +count+ samples of +weight+ do not surprise.
    def exact(count, weight)
      p = 1 / weight
      mean = count * weight
      spread = Math.sqrt(mean * (weight - 1)) + weight
      low = solve(TAIL, count, mean) { |objects| beyond(objects, count, p, OBSERVED) }
      high = solve(1 - TAIL, mean, mean + 12 * spread) { |objects| beyond(objects, count, p, 1 - OBSERVED) }
      [low, high]
    end

    # P(X > count) + share * P(X = count), X binomial(objects, p); +objects+
    # and +count+ need not be whole.  P(X >= count) is an incomplete beta
    # function (Abramowitz & Stegun 26.5.24).
    def beyond(objects, count, p, share)
      rest = objects - count
      return 0.0 if rest <= 0

      equal = Math.exp(log_beta_front(p, count, rest + 1)) / (1 - p) / count
      incomplete_beta(p, count, rest + 1) - (1 - share) * equal
    end

    # No sample: OBSERVED * (1-p)**N >= 2.5%.
    def none_seen(unit, size)
      return 0.0 unless unit > 0

      p = size.to_f / unit
      return 0.0 if p >= 1

      p < 1e-9 ? -Math.log(TAIL / OBSERVED) * unit : Math.log(TAIL / OBSERVED) / Math.log(1 - p) * size
    end

    # Where a growing function reaches +target+, between +low+ and +high+: false
    # position, with the value of an end that stays put halved (the Illinois
    # method, Dowell & Jarratt 1971, BIT 11:168-174).
    def solve(target, low, high)
      at_low = yield(low) - target
      at_high = yield(high) - target
      return low.to_f if at_low >= 0
      return high.to_f if at_high <= 0

      moved = nil
      SOLVE_STEPS.times do
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        value = yield(middle) - target
        return middle if value.abs < SOLVE_PRECISION

        if value < 0
          low, at_low = middle, value
          at_high /= 2 if moved == :low
          moved = :low
        else
          high, at_high = middle, value
          at_low /= 2 if moved == :high
          moved = :high
        end
      end
      (low + high) / 2.0
    end

    SOLVE_STEPS = 100                   # ten do
    SOLVE_PRECISION = 1e-9              # of a probability of 2.5%
    private_constant :SOLVE_STEPS, :SOLVE_PRECISION

    # The regularized incomplete beta function I_x(a, b), by its continued
    # fraction (Abramowitz & Stegun 26.5.8) with Lentz's method.
    def incomplete_beta(x, a, b)
      return 0.0 if x <= 0
      return 1.0 if x >= 1
      return 1 - incomplete_beta(1 - x, b, a) if x > (a + 1.0) / (a + b + 2)

      Math.exp(log_beta_front(x, a, b)) * beta_fraction(x, a, b) / a
    end

    # log of x**a * (1-x)**b / B(a, b)
    def log_beta_front(x, a, b)
      Math.lgamma(a + b)[0] - Math.lgamma(a)[0] - Math.lgamma(b)[0] + a * Math.log(x) + b * Math.log(1 - x)
    end

    BETA_STEPS = 2000                   # a few dozen do below 20 samples
    BETA_PRECISION = 1e-12
    private_constant :BETA_STEPS, :BETA_PRECISION

    def beta_fraction(x, a, b)
      tiny = 1e-300
      c = 1.0
      d = 1 - (a + b) * x / (a + 1)
      d = tiny if d.zero?
      d = 1 / d
      result = d
      1.upto(BETA_STEPS) do |m|
        before = result
        [m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
         -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))].each do |term|
          d = 1 + term * d
          d = tiny if d.zero?
          c = 1 + term / c
          c = tiny if c.zero?
          d = 1 / d
          result *= d * c
        end
        break if (result - before).abs < BETA_PRECISION * result.abs
      end
      result
    end

    private_class_method :score, :exact, :beyond, :none_seen, :solve,
                         :log_beta_front, :beta_fraction
  end
end
