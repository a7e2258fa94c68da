# frozen_string_literal: true

module HeapSample
  # When was a GC?  A row says with which GC count its objects were born; this says at what time that was.  Profiles
  # have a list of times (Meta#gc_times); where it has gaps, and in files without one, GCs are taken to be even
  # between those that are known.
  class GcClock
    # +infos+: the HeapSample::Meta of a series, in the order of time.
    def initialize(infos)
      @began = infos.first.started || infos.first.taken
      known = infos.map { |info| [info.gc_count.to_i, info.taken] } + (infos.last.gc_times&.map { |begun| [begun.gc, begun.time] } || [])
      points = known.map { |gc, time| [(time - @began).to_f, gc] }.select { |seconds, _| seconds > 0 }.sort
      @times, @counts = [[0.0, first_count(infos, points)], *points].transpose
    end

    # When the session began, a Time.
    attr_reader :began

    # Seconds since the session began at which the GC count became +count+.
    def seconds(count)
      after = @counts.bsearch_index { |known| known >= count } or return @times.last
      return @times.first if after.zero?

      between(@counts[after - 1, 2], @times[after - 1, 2], count)
    end

    # The GC count at a time.
    def count(seconds)
      after = @times.bsearch_index { |time| time >= seconds } or return @counts.last
      return @counts.first if after.zero?

      between(@times[after - 1, 2], @counts[after - 1, 2], seconds).floor
    end

    private

    # When the session began: in the middle of a process's life there were GCs before.
    def first_count(infos, points)
      before = infos.last.gc_times&.select { |begun| begun.time <= @began }&.map(&:gc)&.max
      [before || 0, points.first&.last || 0].min
    end

    def between(known, wanted, value)
      from, to = known
      from == to ? wanted.last : wanted.first + (wanted.last - wanted.first) * ((value - from) / (to - from).to_f)
    end
  end
end
