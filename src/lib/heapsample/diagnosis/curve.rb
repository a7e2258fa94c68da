# frozen_string_literal: true

module HeapSample
  # A size along a clock: work that was done, or time. The clock starts at 0.
  class Curve
    # The clock, and the size, at each point: Arrays of numbers of one length.
    attr_reader :clock, :sizes

    # The lower quartile: memory that is live for a moment only adds to what is retained.
    def self.level(sizes) = sizes.sort[(sizes.size - 1) / 4]

    # The median.
    def self.median(numbers)
      sorted = numbers.sort
      middle = sorted.size / 2
      sorted.size.odd? ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2.0
    end

    # +steps+: how far the clock goes from each point to the next.
    def initialize(steps, sizes)
      sum = 0.0
      @clock = [0.0, *steps.map { |step| sum += step }]
      @sizes = sizes
    end

    def size = sizes.size

    # The same from a point on.
    def from(index) = (index.zero? ? sizes : sizes.drop(index))

    # The levels of blocks of so many points, from a point on.
    def blocks(width, from: 0)
      Array.new((size - from) / width) { |block| Curve.level(sizes[from + (block * width), width]) }
    end

    # The median of the clock, and the level, at a share of the clock: of an eighth of the points about it. Of three points, the
    # fewest, it is the median: the lowest of them may be of the time when the program started.
    def at(share)
      about = about(share)
      [Curve.median(clock[*about]), about.last == 3 ? Curve.median(sizes[*about]) : Curve.level(sizes[*about])]
    end

    # The points about a share of the clock, an eighth of all and at least three: the index of the first, and how many.
    def about(share)
      width = [(size / 8.0).round, 3].max
      index = clock.bsearch_index { |value| value >= share * clock.last } || (size - 1)
      [(index - (width / 2)).clamp(0, [size - width, 0].max), width]
    end

    # Growth by the clock between two shares of it.
    def slope(from, to)
      (x, y), (later_x, later_y) = at(from), at(to)
      later_x > x ? (later_y - y) / (later_x - x) : 0.0
    end

    # Growth by the clock from the second quarter to the third, and from the third to the fourth; nil if one of them has
    # fewer than three points.
    def paces
      quarters = [0.25, 0.5, 0.75].map { |share| quarter(share * clock.last, (share + 0.25) * clock.last) }
      return unless quarters.all?

      quarters.each_cons(2).map { |(x, y), (later_x, later_y)| (later_y - y) / [later_x - x, 1e-9].max }
    end

    # The index of the first point past a share of the clock.
    def index(share) = clock.bsearch_index { |value| value >= share * clock.last } || size

    # call-seq:
    #   slopes(from) -> [low, middle, high]
    #
    # The median of the slopes between all pairs of points from one on (Theil 1950; Sen 1968), and its interval: two
    # standard deviations of Kendall's sum to each side.
    def slopes(from)
      all = []
      (from...size).each { |k| (from...k).each { |i| all << ((sizes[k] - sizes[i]) / (clock[k] - clock[i])) if clock[k] > clock[i] } }
      return [0.0, 0.0, 0.0] if all.empty?

      all.sort!
      n = size - from
      half = 2 * Math.sqrt(n * (n - 1) * ((2 * n) + 5) / 18.0)
      [(all.size - half) / 2, all.size / 2, (all.size + half) / 2].map { |index| all[index.to_i.clamp(0, all.size - 1)] }
    end

    private

    def quarter(from, to)
      first = clock.bsearch_index { |value| value >= from } or return
      past = clock.bsearch_index { |value| value > to } || size
      [Curve.median(clock[first...past]), Curve.level(sizes[first...past])] if past - first >= 3
    end
  end
end
