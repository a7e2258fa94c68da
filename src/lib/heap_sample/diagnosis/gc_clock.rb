# frozen_string_literal: true

module HeapSample
  # When was a GC?  A row says with which GC count its objects were born; this says at what time that was: between two
  # profiles of a series GCs are taken to be even, for only their counts are known.
  class GcClock
    # +infos+: the HeapSample::Meta of a series, in the order of time.
    def initialize(infos)
      @began = infos.first.started || infos.first.taken
      @times = [0.0, *infos.map { |info| (info.taken - @began).to_f }]
      @counts = [0, *infos.map { |info| info.gc_count.to_i }]
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

    def between(known, wanted, value)
      from, to = known
      from == to ? wanted.last : wanted.first + (wanted.last - wanted.first) * ((value - from) / (to - from).to_f)
    end
  end
end
