# frozen_string_literal: true

module HeapSample
  # Live memory by age: how many GCs it has survived, and which lines allocated old
  # memory.
  #
  #   puts profile.generations
  #   puts profile.generations(age: 100..)     # the lines of what survived 100 GCs
  #
  # Blocks of malloc have ages as slots do.
  class Generations
    include Enumerable
    include Analysis

    # So many ages are shown one by one; of more, each range is twice as long as the
    # one before.
    SINGLE = 12
    # Lines of each generation that are listed.
    LINES = 3
    TEXT = GenerationsText

    # Live memory of a range of ages.
    class Generation
      # GCs survived, from the least to the most: a Range.
      attr_reader :ages
      # A HeapSample::Estimate.
      attr_reader :estimate
      # Part of all whose age is known; nil if that is nothing.
      attr_reader :share

      def initialize(ages, profile, total) # :nodoc:
        @ages = ages
        @profile = profile
        @estimate = profile.groups(:class).total.inuse
        @share = @estimate.space / total.to_f if total > 0
      end

      # How many GCs that is.
      def gcs = ages.end - ages.begin + 1

      # Bytes from each GC, on average, and the 95% interval.
      def bytes_per_gc = estimate.space / gcs.to_f
      # The 95% interval of #bytes_per_gc.
      def bytes_per_gc_interval = estimate.interval&.map { |limit| limit / gcs }

      # call-seq:
      #   top(by: :line, top: 20, …) -> HeapSample::Top
      #
      # What it is made of; see HeapSample::Top.
      def top(**options)
        Top.new(@profile, value: :inuse_space, **options)
      end

      # "4 – 7"
      def to_s
        layout = Layout.new
        [ages.begin, ages.end].uniq.map { |age| layout.count(age) }.join(" – ")
      end

      def inspect
        "#<#{self.class} #{self}, #{estimate.inspect}>"
      end
    end

    # Memory that has an age; live memory that has none; memory allocated since the last
    # completed mark: HeapSample::Estimate.
    attr_reader :total, :ageless, :young
    # Of which rows, at which GC; the ages that were asked for, nil for all; how the largest parts are grouped, how many.
    attr_reader :profile, :gc_count, :age, :by, :top

    # call-seq:
    #   Generations.new(profile, age: nil, by: :line, top: 3)
    #
    # +age+: a Range of GCs, to see that alone; +by+: how the largest parts of a
    # generation are grouped; +top+: how many of them, by default 3, and 20 if an +age+
    # is given.
    def initialize(profile, age: nil, by: :line, top: nil)
      @age = age
      @by = by
      @top = top || (age ? Top::ROWS : LINES)
      Layout.check(top: @top)
      Keys.new(profile, by)                   # checks +by+
      @gc_count = profile.info.gc_count
      @profile = age ? profile.with(Filter.new(age: age).rows(profile)) : profile
      divide
    end

    # Yields HeapSample::Generations::Generation, the youngest first.
    def each(&block)
      @generations.each(&block)
    end

    # Are generations numbered by the GC of the allocation, one by one, as in heap dumps?
    def by_gc? = profile.info.dump?

    # The GCs that half of the bytes have survived, or more; nil if none has an age.
    def median
      older = 0.0
      @by_age.sort.reverse_each do |age, space|
        older += space
        return age if older * 2 >= total.space
      end
      nil
    end

    # JSON-ready: numbers not rounded, intervals as [low, high].  With +stacks+, rows have their stacks.
    def to_h(stacks: false)
      {
        gc_count: @gc_count, by: @by, filter: @profile.filtered&.names, age: @age && Filter.new(age: @age).names[:age],
        total: total.to_h, median_age_gcs: median, without_age: ageless.to_h, young: young.to_h,
        generations: map do |generation|
          {generation: (@gc_count - generation.ages.begin if by_gc?), age_gcs: [generation.ages.begin, generation.ages.end], **generation.estimate.to_h, share: generation.share,
           bytes_per_gc: generation.bytes_per_gc, bytes_per_gc_interval: generation.bytes_per_gc_interval,
           rows: generation.top(by: @by, top: @top).to_h(stacks: stacks)[:rows]}
        end
      }.compact
    end

    # The largest rows of all that has an age: a HeapSample::Top.
    def largest
      Top.new(@profile.with(@profile.table.select { |row| row[Columns::ALLOCATION_GC] }), value: :inuse_space, by: @by, top: @top)
    end

    # Ranges that cover +ages+, without what lies before the first of them.
    def self.ranges(ages) # :nodoc:
      first, last = ages.minmax
      return [] unless last
      return (first..last).map { |age| age..age } if last - first < SINGLE

      doubling = [0..0]
      doubling << ((doubling.last.end + 1)..(doubling.last.end * 2 + 1)) while doubling.last.end < last
      doubling.filter_map { |range| [range.begin, first].max..[range.end, last].min if range.end >= first }
    end

    private

    # The rows of each age, of none, and how many bytes each age has.
    def divide
      @ageless, @young = Estimate.new, Estimate.new
      ages = Hash.new { |known, age| known[age] = [] }
      @profile.table.each do |row|
        @young.add_columns(row, Columns::YOUNG, row[Columns::SLOT_SIZE]) if row[Columns::YOUNG_OBJECTS] > 0
        next unless row[Columns::INUSE_OBJECTS] > 0

        allocation_gc = row[Columns::ALLOCATION_GC]
        next @ageless.add_columns(row, Columns::INUSE, row[Columns::SLOT_SIZE]) unless allocation_gc && @gc_count

        ages[[@gc_count - allocation_gc, 0].max] << row
      end
      @by_age = ages.transform_values { |rows| rows.sum(0.0) { |row| row[Columns::INUSE_SPACE] } }
      parts = (by_gc? ? ages.keys.sort.map { |age| age..age } : Generations.ranges(ages.keys)).map do |range|
        [range, @profile.with(ages.select { |age, _| range.cover?(age) }.values.flatten(1))]
      end
      @total = parts.inject(Estimate.new) { |sum, (_, part)| sum.add(part.groups(:class).total.inuse) }
      @generations = parts.map { |range, part| Generation.new(range, part, @total.space) }
    end
  end
end
