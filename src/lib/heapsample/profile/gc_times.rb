# frozen_string_literal: true

module HeapSample
  # When the GCs of a process began: so that the GC count of an allocation (Row#allocation_gc) has a time.
  #
  # A process may have had a million GCs.  A profile has the newest of them, and of the older ones so many that
  # two neighbours are no further apart than a sixtieth of the time that they cover, unless there was no
  # GC between them.
  class GCTimes
    include Enumerable

    # A GC: its number, which is GC.count from then on; when it began, a Time; and how many major GCs had begun by
    # then, itself included.
    Begun = Struct.new(:gc, :time, :majors)

    MS_PER_S = 1000r
    # A step that is longer is nonsense.
    MOST = 1 << 48

    # Of what the file has: [gc, milliseconds, majors], each counted from the one before.  nil if it has
    # none, or nonsense.
    def self.of(values)
      return unless values.is_a?(Array) && values.all? { |step| step?(step) }

      sums = [0, 0, 0]
      new(values.map do |step|
        sums = sums.zip(step).map(&:sum)
        Begun.new(sums[0], Time.at(sums[1] / MS_PER_S), sums[2])
      end)
    end

    def self.step?(step)
      step.is_a?(Array) && step.size == 3 && step.all? { |number| number.is_a?(Integer) && number.between?(0, MOST) }
    end
    private_class_method :step?

    # +begun+: Begun objects, oldest first.
    def initialize(begun)
      @begun = begun
    end

    # call-seq:
    #   each { |begun| ... } -> self
    #
    # Each GC that is known, oldest first.
    def each(&)
      @begun.each(&)
      self
    end

    # How many are known.
    def size = @begun.size

    # call-seq:
    #   allocated_at(gc) -> [time or nil, time or nil]
    #
    # Between which times objects were allocated when the GC count was +gc+.  The first is nil if that was before
    # the first GC that is known, the second if it was after the last.
    #
    #   earliest, latest = profile.info.gc_times.allocated_at(row.allocation_gc)
    def allocated_at(gc)
      after = @begun.bsearch_index { |begun| begun.gc > gc } || @begun.size
      [(@begun[after - 1].time if after > 0), @begun[after]&.time]
    end
  end
end
