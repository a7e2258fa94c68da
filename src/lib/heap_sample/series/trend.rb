# frozen_string_literal: true

module HeapSample
  # Does one row of a series grow, and steadily?
  #
  # The time that is judged is cut into blocks.  Of what is there at the end, G bytes in all
  # came in them, D(b) in block b, and of what was there at first L bytes are gone: the
  # growth is G - L.  Block b is a share c(b) of the clock, all of which add to 1.  A leak is
  # D(b) = G c(b) + noise, whose variance grows with c(b); so the variance of G is
  #
  #   V = sum of (D(b) - G c(b))**2 / c(b), by blocks - 1
  #
  # taken from how unevenly came what stayed: it holds sampling, bursts of requests, and
  # what only fills or passes through.  It is never taken to be less than what sampling alone
  # makes of G, and that of L is added.  G - L by the root of it all is Student's t with
  # blocks - 1 degrees of freedom if there is no growth.  A single step of any size has t = 1,
  # as has what came and has not gone yet.  Where births are not known (malloc in files of format 2) D is net growth; what goes
  # up and comes down again then makes neighbours cancel, so that V overstates the error.
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

    # Growth over all, and over the last third: each a Net.
    attr_reader :whole, :end
    attr_reader :blocks
    # Hours that are judged.
    attr_reader :hours

    # +blocks+ in their order; +recent+: {number of last blocks => their Net}, the last third first,
    # then less; +since+: Estimate of what came after the blocks and may stay, nil if
    # that is not known, in +since_shares+ of time and GCs.
    def initialize(blocks, whole:, recent:, hours:, since: nil, since_shares: [0, 0])
      @since = since
      @since_shares = since_shares
      @blocks = blocks
      @whole = whole
      @recent = recent
      @end = recent.values.first
      @hours = hours
    end

    # Bytes an hour.
    def slope = whole.space / hours

    # The 95% interval of #slope: that of sampling or that of how uneven the growth
    # was, on each side the wider one.
    def slope_interval
      low, high = whole.space_interval
      uneven = Trend.student_quantile(Statistics::TAIL, blocks.size - 1) * Math.sqrt(variance)
      [[low, whole.space - uneven].min / hours, [high, whole.space + uneven].max / hours]
    end

    # Samples that came and went: how much there is to judge by.
    def samples = [blocks.sum(&:samples), whole.samples].max

    # Odds of growth like this, so much and so steady, if there is none.
    def trend_odds
      error = Math.sqrt(variance)
      return whole.space > 0 ? 0.0 : 1.0 if error.zero?

      Trend.student_tail(whole.space / error, blocks.size - 1)
    end

    # Odds of what the last third gained and lost, if it did not grow.
    def end_odds = Trend.sign_odds(@end.gained, @end.lost)

    # The same of the whole time, by sampling alone.
    def whole_odds = Trend.sign_odds(whole.gained, whole.lost)

    # The larger of #trend_odds and #end_odds: both must be small.
    def odds = [trend_odds, end_odds].max

    # The rate in the last third as a part of that before it; nil if there was none before.
    def pace = paces.first

    # Below such a #pace growth is called slowing,
    SLOWING = 0.6
    # and below this if it is that of the last sixth, or of what came after: it has ended.
    ENDED = 1 / 3.0

    def slowing?
      third, *later = paces
      (third ? third < SLOWING : false) || [*later, since_pace].compact.any? { |pace| pace < ENDED }
    end

    private

    # By time or by GCs, whichever is more.
    def paces
      @recent.map do |count, change|
        before = whole.space - change.space
        next unless before > 0

        rates(change.space, before, *%i[time gcs].map { |clock| blocks.last(count).sum(&clock) }) { |share| 1 - share }
      end
    end

    # The same of what came since, where it is enough to tell: so many samples were to be
    # expected by time and by GCs.  An idle process leaks nothing.
    def since_pace
      return unless @since && whole.space > 0

      expected = @since_shares.min * whole.samples
      rates(@since.space, whole.space, *@since_shares) { 1.0 } if expected >= SINCE_LEAST
    end

    SINCE_LEAST = 8
    private_constant :SINCE_LEAST

    def rates(recent, before, *shares)
      shares.filter_map { |share| recent / share / (before / yield(share)) if share > 0 && yield(share) > 0 }.max
    end

    # Of G - L.
    def variance
      @variance ||= [scatter, whole.gained.variance].max + whole.lost.variance
    end

    # V of the class's comment: a block of no time and no GC has no place in it.
    def scatter
      all = blocks.sum(&:net)
      blocks.sum { |block| block.clock > 0 ? (block.net - all * block.clock)**2 / block.clock : 0.0 } / (blocks.size - 1)
    end

    class << self
      # P(t >= +value+) of Student's t.
      def student_tail(value, freedom)
        half = Statistics.incomplete_beta(freedom / (freedom + value * value).to_f, freedom / 2.0, 0.5) / 2
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
