# frozen_string_literal: true

module HeapSample
  # Does a size that is known exactly grow without end?
  #
  #   verdict = Verdict.of(points, floor: 100_000)
  #   verdict.state   #=> :leak
  #
  # The size is taken after major GCs, so it has no garbage in it. Two things decide. The evidence that it grows is a
  # RankTest of the levels of 8 to 28 blocks of points; the chance of a false alarm in the whole life of a level process is
  # below ALPHA. It does not cover what warms up or rises and falls, so seven guards have to hold too; in the state :grows
  # #guard is the guard that fails. Time without work is no evidence: a point counts only if work was done.
  #
  # doc/benchmarks.md has the error rates, and `benchmark/run verdict` measures them.
  class Verdict
    # Seconds; work done so far, in allocated objects; the size, in bytes or a count.
    Point = Struct.new(:seconds, :work, :size) # rubocop:disable Lint/StructNewOverride -- a point has a size, not members to count

    # Points without which there can be no evidence: the 8 that are judged have 8! orders.
    FIRST = 12
    # Points from which on growth can be called a leak.
    LEAST = 14
    # Points from which on the absence of evidence means that there is no leak.
    ENOUGH = 17
    # False alarms in the life of one size; the five sizes of a process make 1 in 1,000.
    ALPHA = 1 / 5000.0
    # The pace of a quarter, and of a half, as a share of the one before: less means that it slows down.
    PACE_OF_QUARTER = 0.6
    PACE_OF_HALF = 0.7
    # The part of the growth that may come in three steps.
    STEPS = 0.9
    # Student's t of the trend, where slow waves widen its error.
    WAVES = 7.0
    # A leak has ended when the upper limit of its pace is below the first part of what it was, and the lower limit below
    # the other.
    STOPPED = 0.25
    GOES_ON = 0.1
    # An interval with less than this part of the usual work is idle.
    IDLE = 0.1
    # Looks are replayed after each point up to this number, then after each 2%.
    EACH = 64
    # Why growth that is certain is no leak yet, by guard.
    GUARDS = %i[small few late slows back steps waves load].freeze

    # :early (too few points), :level, :grows (certain, but a guard fails), :leak, or :ended (it was a leak).
    attr_reader :state
    # The guard that failed at the last look, one of GUARDS; nil if there is no evidence, or if all hold, which they have to
    # do for a while.
    attr_reader :guard
    # Points that count.
    attr_reader :points
    # How far the evidence is beyond what is needed: a natural logarithm, negative if there is not enough.
    attr_reader :evidence
    # Growth of fewer bytes is ignored.
    attr_reader :floor

    # The verdict after some points: a function of the points alone.
    def self.of(points, floor:)
      verdict = new(floor: floor)
      points.each { |point| verdict.add(point, look: false) && verdict.look_now? && verdict.look }
      verdict.look
      verdict
    end

    # +floor+: growth below it is none.
    def initialize(floor:)
      @floor = floor
      @points = []
      @state = :early
      @peak = -Float::INFINITY
      @looked = 0
      @rates = []
    end

    # Adds a point, and judges again. Returns false if it was left out, because little work was done since the one before, or
    # because the clock was set back.
    def add(point, look: true)
      before, @before = @before, point
      if before
        rate = (point.work - before.work) / [point.seconds - before.seconds, 1e-9].max.to_f
        return false if point.seconds <= @points.last.seconds || point.work < @points.last.work
        return false if @rates.size >= 4 && rate < IDLE * Curve.median(@rates)

        @rates << rate
      end
      @points << point
      self.look if look
      true
    end

    # Is it time to look again?
    def look_now? = @points.size <= EACH || @points.size >= @looked * 1.02 # :nodoc:

    # Judges the points.
    def look # :nodoc:
      return @state if @looked == @points.size || @points.size < FIRST

      @looked = @points.size
      @by_work = by_work
      return @state = stopped? ? finish : :leak if @leak

      start, number = start_and_number
      levels = @by_work.blocks(start / 4, from: start)
      @evidence = RankTest.log(levels) - Math.log(number * (number + 1) / ALPHA)
      @guard = (failing(levels, start) if @evidence >= 0)
      @since = @evidence < 0 || @guard ? nil : @since || size
      return @state = begin_leak if @since && size >= LEAST && size - @since >= (size / 12) - 1

      @state = without_leak
    end

    # How many points count.
    def size = @points.size
    # Are there enough points for the verdict that there is no leak?
    def enough? = size >= ENOUGH
    # Does it grow, for certain, or did it?
    def grows? = %i[grows leak ended].include?(state)

    # What the size grew by since a quarter of the work, from lower quartile to lower quartile; 0 where there are too few
    # points. Of what ended: to its peak, from where it was judged first.
    def grew
      return @top - base if ended?

      size < 3 ? 0 : curve.at(1.0)[1] - curve.at(0.25)[1]
    end

    # Seconds in which it grew so much.
    def seconds
      return ended_at - judged_from if ended?

      size < 3 ? 0.0 : [1.0, 0.25].map { |share| Curve.median(@points[*curve.about(share)].map(&:seconds)) }.inject(:-).to_f
    end

    # When they began, for growth up to the last point: #seconds before it.
    def judged_from = ended? ? @points[@from].seconds : @points.last.seconds - seconds
    # The size then.
    def size_before = ended? ? base : @points.find { |point| point.seconds >= judged_from }.size
    # The size that it grew to.
    def size_after = ended? ? @top : @points.last.size
    # Of what ended: when all but a twentieth of the growth was there.
    def ended_at = @points.drop(@from).find { |point| point.size >= @top - (grew / 20.0) }.seconds

    # The rate in size a second of time in which work was done, and its 95% interval: [low, rate, high]. It is of the points
    # past a quarter of the work.
    def rate
      time = by_time
      time.slopes([time.index(0.25), size - 2].min)
    end

    # The rate, in size a second, from which on a leak would have been found, 19 times in 20 (measured: doc/estimates.md). It is
    # well above the growth since a quarter, a half and three quarters of the work, which may be a leak that comes in steps, or
    # began late.
    def detectable
      time = by_time
      seen = [0.25, 0.5, 0.75].map { |share| time.slope(share, 1.0) }.max
      [200 * noise / (size**1.5) / interval, floor / (0.75 * size) / interval, 1.5 * seen].max
    end

    # Seconds until more is known: of growth that is certain, until as much time again has passed; else until there are ENOUGH
    # points.
    def seconds_to_know = grows? ? @points.last.seconds - @points.first.seconds : [ENOUGH - size, 1].max * interval

    # The usual seconds from point to point.
    def interval = Curve.median(@points.each_cons(2).map { |one, other| other.seconds - one.seconds })

    private

    def ended? = state == :ended
    def base = Curve.level(sizes[@from, 3])

    def curve = @by_work && @by_work.size == size ? @by_work : @by_work = by_work

    # Standard deviation of a point, from the differences of neighbours: of the normal distribution the median
    # difference is 0.954 of it.
    def noise = Curve.median(@points.each_cons(2).map { |one, other| (other.size - one.size).abs }) / 0.954

    # Judged from the largest power of two up to a quarter of the points on, which fixes the starts beforehand.
    def start_and_number
      start, number = 4, 1
      start, number = start * 2, number + 1 while start * 8 <= size
      [start, number]
    end

    # An interval counts for twice the usual work at most: loading code is another kind of work.
    def by_work
      most = 2 * Curve.median(@rates)
      return by_time if most.zero?

      Curve.new(steps { |seconds, work| [work, most * seconds].min }, sizes)
    end

    # Time; where less than a third of the usual work is done, as much as that work usually takes.
    def by_time
      usual = Curve.median(@rates)
      Curve.new(steps { |seconds, work| work < usual / 3 * seconds ? work / usual : seconds }, sizes)
    end

    def steps = @points.each_cons(2).map { |one, other| yield(other.seconds - one.seconds, (other.work - one.work).to_f) }
    def sizes = @points.map(&:size)

    # The first guard that fails; nil if all hold.
    def failing(levels, start)
      return :small if @by_work.at(1.0)[1] - @by_work.at(0.25)[1] < floor

      # A cache allocates when it misses, so its growth by work is even while it fills; time shows that it slows. Load that
      # falls looks like that by time, and work shows that it does not.
      uneven = uneven(@by_work) || uneven(by_time)
      return uneven if uneven
      return :back if back?(start)
      return :steps if steps?(levels)
      return :waves if trend(levels) < WAVES

      :load if load_explains?(start)
    end

    def uneven(curve)
      first, second = curve.paces
      return :few if first.nil?
      return :late if first < PACE_OF_QUARTER * second

      :slows if second < PACE_OF_QUARTER * first || curve.slope(0.5, 1.0) < PACE_OF_HALF * curve.slope(0.25, 0.5)
    end

    # Was it as high before? The last quarter has to be above each block before it, and above the peak of a leak that ended.
    def back?(start)
      last = @by_work.index(0.75)
      width = [start / 4, 3].max
      earlier = @by_work.sizes.first(last).each_slice(width).filter_map { |block| Curve.level(block) if block.size == width }
      Curve.level(@by_work.from(last)) < [@peak, *earlier].max
    end

    # Did three jumps make most of it?
    def steps?(levels)
      jumps = levels.each_cons(2).map { |one, other| other - one }
      jumps.max(3).sum > STEPS * [levels.last(2).min - levels.first(2).max, 1.0].max
    end

    # Student's t of a straight line through the levels. What is left over may be correlated (first order), which widens the
    # error of the slope by the root of (1 + r) / (1 - r).
    def trend(levels)
      n = levels.size
      middle, mean, squares = (n - 1) / 2.0, levels.sum / n.to_f, n * ((n * n) - 1) / 12.0
      slope = levels.each_with_index.sum { |level, i| (i - middle) * (level - mean) } / squares
      rest = levels.each_with_index.map { |level, i| level - mean - (slope * (i - middle)) }
      error = rest.sum { |one| one * one }
      return Float::INFINITY if error < 1e-12 * mean * mean

      correlation = ((rest.each_cons(2).sum { |one, other| one * other } / error) + (1.0 / n)).clamp(0, 0.9)
      slope * Math.sqrt(squares) / Math.sqrt(error / (n - 2) * (1 + correlation) / (1 - correlation))
    end

    # What follows the load grows by the factor of the load at most. Is there more load?
    def load_explains?(start)
      points = @points.drop(start)
      third = points.size / 3
      before, now = [points.first(third + 1), points.last(third + 1)].map { |part| (part.last.work - part.first.work) / (part.last.seconds - part.first.seconds) }
      factor = now / [before, 1e-9].max
      factor > [1.1, Math.exp(error_of_factor(start, third) / 2)].max && Curve.level(points.last(third).map(&:size)) < factor * Curve.level(points.first(third).map(&:size))
    end

    # The standard error of the logarithm of that factor: in bursts of work it depends on where they fall.
    def error_of_factor(start, third)
      rates = @rates.drop(start)
      Math.sqrt([rates.first(third), rates.last(third)].sum do |part|
        mean = part.sum / part.size
        part.sum { |rate| (rate - mean)**2 } / (part.size * [part.size - 1, 1].max * [mean, 1e-9].max**2)
      end)
    end

    # The state where there is no leak. What ended stays so until it is above its peak; then it grows, for certain.
    def without_leak
      return @evidence < 0 || @guard == :small ? :level : :grows unless @top

      above = @by_work.at(1.0)[1] > @peak + floor
      @guard = above && @evidence < 0 ? :late : (@guard if above)
      above ? :grows : :ended
    end

    def begin_leak
      @leak = size
      @from = @by_work.index(0.25)
      @pace, @base = @by_work.slope(0.5, 1.0), @by_work.at(0.5)[1]
      @pace_by_time = by_time.slope(0.5, 1.0)
      @rate = Curve.median(@rates.last(size / 2))
      :leak
    end

    # Is it over, while as much work is done as before, or as in most of its life? An idle process ends nothing.
    def stopped?
      return false if Curve.median(@rates.last(5)) < 0.7 * [@rate, Curve.median(@rates)].min
      return true if Curve.median(sizes.last(5)) < @base

      [[size / 4, 6].max, size / 2].any? { |points| flat?(size - points) }
    end

    # Is its pace from a point on a small part of what it was? Where little work is done, noise hides that by work, and time shows
    # it; a leak that goes on with less work still has its pace by work.
    def flat?(from)
      low, _, high = @by_work.slopes(from)
      low < GOES_ON * @pace && (high < STOPPED * @pace || by_time.slopes(from).last < STOPPED * @pace_by_time)
    end

    def finish
      @peak, @top = [0, @from].map { |from| sizes.drop(from).each_cons(3).map { |three| Curve.median(three) }.max }
      @leak = @since = nil
      :ended
    end
  end
end
