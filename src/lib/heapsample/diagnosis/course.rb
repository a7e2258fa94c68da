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
    # More of it in one part is a step, or the tooth of a saw.
    PART_MOST = 0.7
    # The second half of the time, compared with the first: less is slowing down; of what is known exactly, which has
    # garbage in it, and of what is sampled.
    PACE_LEAST = 0.5
    PACE_LEAST_SAMPLED = 2 / 3.0
    # Standard deviations of sampling that count for growth, and that growth has to be above.
    SLACK = 1.5
    ERRORS = 2.4
    # Of what came, so much has to stay: what comes and goes stays for a while only.
    RETENTION_LEAST = 0.45
    # Samples that have to have come to be certain of it.
    SAMPLES_TO_PASS = 16

    # Bytes kept at each moment.
    attr_reader :kept
    # Bytes that came to stay in each part of the time.
    attr_reader :parts

    # +times+ in seconds, growing; +sizes+ in bytes; +from+ the time from which on it is judged; +unit+: bytes that a
    # sample stands for, 0 of a size that is known exactly; +turnover+: bytes that came and that went, up to each moment.
    def initialize(times, sizes, from: times.first, unit: 0.0, turnover: nil)
      @times = times
      @unit = unit
      @turned = turnover ? at(times.last, turnover) - at(from, turnover) : 0.0
      @kept = sizes.reverse.inject([]) { |kept, size| kept << [size, *kept.last].min }.reverse
      edges = Array.new(PARTS + 1) { |number| at(from + (times.last - from) * number / PARTS, @kept) }
      @parts = edges.each_cons(2).map { |early, late| late - early }
    end

    # Bytes that came to stay in all.
    def grew = parts.sum

    # The 95% interval of #grew, by sampling alone.
    def interval
      error = Statistics::Z * Math.sqrt([grew, 0].max * @unit)
      [[grew - error, 0.0].max, [grew, 0.0].max + error]
    end

    # The standard deviation of sampling in #grew, as a part of it.
    def noise = grew > 0 ? Math.sqrt(@unit / grew) : 0.0

    # Does it grow all along, as far as the parts can tell?
    def steady?
      return false unless grew > 0

      mean = grew / PARTS
      parts.count { |part| reaches?(part, PART_LEAST * mean) } >= PARTS - 1 && reaches?(parts.last, LAST_LEAST * mean) && !a_step? && !slowing?
    end

    # Did most of it come in one part?
    def a_step? = parts.max - Math.sqrt(parts.max * @unit) > PART_MOST * grew

    # Is it more than sampling explains?  What comes and goes as well makes a difference of many samples, of which none
    # need be growth.
    def certain? = grew >= ERRORS * Math.sqrt(@unit * [@turned, grew, 0].max)

    # The share of what came that stays: of a leak nearly all; little where things come and go, however many of them.
    def retention = grew / [came, 1.0].max

    # Does most of what came stay?
    def keeps? = retention >= RETENTION_LEAST

    # Is it certain that most of what came does not stay?
    def passes? = !keeps? && came >= SAMPLES_TO_PASS * @unit

    # call-seq:
    #   slowing?(work = 1.0) -> true or false
    #
    # Does it level off?  +work+: how much was done in the second half of the time, as a part of the first: where less is done
    # less comes.
    def slowing?(work = 1.0)
      first, second = parts.each_slice(PARTS / 2).map(&:sum)
      least = @unit.zero? ? PACE_LEAST : PACE_LEAST_SAMPLED
      second + SLACK * Math.sqrt([second, 0].max * @unit) < least * [work, 1.0].min * first
    end

    private

    # Is it as much, as far as sampling can tell?
    def reaches?(size, least) = size + SLACK * Math.sqrt(least * @unit) >= least

    # Bytes that came, to stay or not.
    def came = [(@turned + grew) / 2, grew].max

    # What +sizes+ were at a time.
    def at(time, sizes)
      after = @times.bsearch_index { |known| known >= time } || @times.size - 1
      return sizes[after].to_f if after.zero? || @times[after] == @times[after - 1]

      share = (time - @times[after - 1]) / (@times[after] - @times[after - 1])
      sizes[after - 1] + (sizes[after] - sizes[after - 1]) * [share, 1.0].min
    end
  end
end
