# frozen_string_literal: true

module HeapSample
  # The course of a size over the time that is judged: how much of it came and was not given back any more, and in
  # which part of the time.
  #
  # What is kept at a moment is the least that the size is at it or at any later one: what rises and falls again, as
  # garbage between two GCs and the load of an hour do, is not in it.  The time is cut into PARTS of equal length.
  # Growth goes on if there is growth in all parts but one, and in the last as much as elsewhere: a step falls into
  # one part, and what fills up slows down.
  class Course
    PARTS = 4
    # A part's growth, as a share of the mean of all parts, from which it counts as growth; and that of the last part.
    PART_LEAST = 0.25
    LAST_LEAST = 0.35
    # The second half of the time, compared with the first: less is slowing down.
    PACE_LEAST = 0.5

    # Bytes kept at each moment.
    attr_reader :kept
    # Bytes that came to stay in each part of the time.
    attr_reader :parts

    # +times+ in seconds, growing; +sizes+ in bytes; +from+ the time from which on it is judged; +unit+: bytes that a
    # sample stands for, 0 of a size that is known exactly.
    def initialize(times, sizes, from: times.first, unit: 0.0)
      @times = times
      @unit = unit
      @kept = sizes.reverse.inject([]) { |kept, size| kept << [size, *kept.last].min }.reverse
      edges = Array.new(PARTS + 1) { |number| at(from + (times.last - from) * number / PARTS) }
      @parts = edges.each_cons(2).map { |early, late| late - early }
    end

    # Bytes that came to stay in all.
    def grew = parts.sum

    # Does it grow all along, as far as the parts can tell?
    def steady?
      return false unless grew > 0

      mean = grew / PARTS
      slack = Math.sqrt(mean * @unit)
      parts.count { |part| part + slack >= PART_LEAST * mean } >= PARTS - 1 && parts.last + slack >= LAST_LEAST * mean && !slowing?
    end

    # Does it level off?
    def slowing?
      first, second = parts.each_slice(PARTS / 2).map(&:sum)
      second + Math.sqrt([second, 0].max * @unit) < PACE_LEAST * first
    end

    private

    # Bytes kept at a time.
    def at(time)
      after = @times.bsearch_index { |known| known >= time } || @times.size - 1
      return @kept[after].to_f if after.zero? || @times[after] == @times[after - 1]

      share = (time - @times[after - 1]) / (@times[after] - @times[after - 1])
      @kept[after - 1] + (@kept[after] - @kept[after - 1]) * [share, 1.0].min
    end
  end
end
