# frozen_string_literal: true

module HeapSample
  # Does one row of a series grow, and steadily?
  #
  # The time that is judged is cut into blocks.  In block b the row gained and
  # lost so many bytes, net D(b), and the block is a share c(b) of the clock, all
  # of which add to 1.  A leak of L bytes in all is D(b) = L c(b) + noise, whose
  # variance grows with c(b).  Then the estimate of L is the sum of D, whatever
  # the clock, and its variance
  #
  #   V = sum of (D(b) - L c(b))**2 / c(b), by blocks - 1
  #
  # is taken from how unevenly the row grew: it holds sampling, bursts of
  # requests, and what comes and goes.  It is never taken to be less than what
  # sampling alone makes of L (the samples born since the start that are there at
  # the end, and those of the start that are not).  L by the root of V is
  # Student's t with blocks - 1 degrees of freedom if D is noise about 0.  What goes
  # up and comes down again makes neighbours of D cancel, so that V overstates the
  # error; a single step of any size has t = 1.
  #
  # The clock is half time and half GCs.  A leak by the request follows the
  # second, one by a timer the first, and the mean of both is near enough to
  # either that the residuals stay small.
  class Trend
    # One part of the time: what came and what went, Estimates, and the part's
    # shares of time and of GCs.
    Block = Struct.new(:gained, :lost, :time, :gcs) do
      def net = gained.space - lost.space
      def clock = (time + gcs) / 2.0
      def samples = gained.samples + lost.samples
    end

    # Growth over all, and over the last third: each a GrowthGroup (a Net).
    attr_reader :whole, :end
    attr_reader :blocks
    # Hours that are judged.
    attr_reader :hours

    # +blocks+ in their order; +recent+ of them make the last third.
    def initialize(blocks, whole:, recent:, last:, hours:)
      @blocks = blocks
      @whole = whole
      @recent = recent
      @end = last
      @hours = hours
    end

    # Bytes an hour.
    def slope = whole.space / hours

    # The 95% interval of #slope: that of sampling or that of how uneven the growth
    # was, on each side the wider one.
    def slope_interval
      low, high = whole.space_interval
      uneven = Trend.student_quantile(Statistics::TAIL, blocks.size - 1) * Math.sqrt(scatter)
      [[low, whole.space - uneven].min / hours, [high, whole.space + uneven].max / hours]
    end

    # Samples that came and went: how much there is to judge by.
    def samples = blocks.sum(&:samples)

    # Odds of growth like this, so much and so steady, if there is none.
    def trend_odds
      error = Math.sqrt([scatter, whole.gained.variance + whole.lost.variance].max)
      return whole.space > 0 ? 0.0 : 1.0 if error.zero?

      Trend.student_tail(whole.space / error, blocks.size - 1)
    end

    # Odds of what the last third gained and lost, if it did not grow.
    def end_odds = Trend.sign_odds(@end.gained, @end.lost)

    # The same of the whole time, by sampling alone.
    def whole_odds = Trend.sign_odds(whole.gained, whole.lost)

    # The larger of #trend_odds and #end_odds: both must be small.
    def odds = [trend_odds, end_odds].max

    # The rate in the last third as a part of that before it, by time or by GCs,
    # whichever is more; nil if there was none before.
    def pace
      before = whole.space - @end.space
      return unless before > 0

      %i[time gcs].filter_map do |clock|
        recent = blocks.last(@recent).sum(&clock)
        next unless recent > 0 && recent < 1

        @end.space / recent / (before / (1 - recent))
      end.max
    end

    # Below this #pace growth is called slowing.
    SLOWING = 0.6

    def slowing?
      pace ? pace < SLOWING : false
    end

    private

    # V of the class's comment: a block of no time and no GC has no place in it.
    def scatter
      @scatter ||= blocks.sum { |block| block.clock > 0 ? (block.net - whole.space * block.clock)**2 / block.clock : 0.0 } /
                   (blocks.size - 1)
    end

    class << self
      # P(t >= +value+) of Student's t.
      def student_tail(value, freedom)
        half = Statistics.incomplete_beta(freedom / (freedom + value * value), freedom / 2.0, 0.5) / 2
        value < 0 ? 1 - half : half
      end

      # The value that is exceeded with odds of +tail+, by bisection.
      def student_quantile(tail, freedom)
        @quantiles ||= {}
        @quantiles[[tail, freedom]] ||= begin
          low, high = 0.0, 2.0
          high *= 2 while student_tail(high, freedom) > tail
          60.times do
            middle = (low + high) / 2
            student_tail(middle, freedom) > tail ? low = middle : high = middle
          end
          high
        end
      end

      # Of n samples that came or went, odds of so many or more that came, if each
      # is as likely to go: P(binomial(n, 1/2) >= gained).  Weights that differ are
      # made one, the variance a byte of both sides together.
      def sign_odds(gained, lost)
        return 1.0 unless gained.space > lost.space

        unit = (gained.variance + lost.variance) / (gained.space + lost.space).to_f
        return 0.0 unless unit > 0

        Statistics.incomplete_beta(0.5, gained.space / unit, lost.space / unit + 1)
      end

      # call-seq:
      #   samples_to_see(odds, blocks) -> Integer
      #
      # So many samples a leak must leave in the time that is judged to be found
      # 19 times in 20, if nothing else disturbs it and its #odds have to be as small as
      # +odds+.  The first bound is #trend_odds', whose t has a standard deviation of
      # about the root of 1 + t**2 / 2f around the root of the samples; the second
      # #end_odds'; the third is of #pace, whose standard deviation is PACE_ERROR by that root.
      def samples_to_see(odds, blocks)
        freedom = blocks - 1
        t = student_quantile(odds, freedom)
        trend = (t + POWER_Z * Math.sqrt(1 + t * t / (2.0 * freedom)))**2
        last = 3 * (Math.sqrt(POWER_Z**2 / 4 - Math.log2(odds)) + POWER_Z / 2)**2
        [trend, last, (POWER_Z * PACE_ERROR / (1 - SLOWING))**2].max.ceil
      end

      POWER_Z = 1.645
      PACE_ERROR = Math.sqrt(4.5)         # of a third against the rest
      private_constant :POWER_Z, :PACE_ERROR
    end
  end
end
