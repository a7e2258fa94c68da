# frozen_string_literal: true

module HeapSample
  # Groups of rows, ranked by one value: the main table of a report.
  #
  #   top = profile.top(by: :class, value: :inuse_objects)
  #   puts top
  #   top.first.key        #=> "String"
  #   top.first.interval   #=> [1210344.2, 1411522.9]
  class Top
    include Enumerable
    include Analysis

    ROWS = 20
    # What rows are of whose memory some line of the application asked for.
    APPLICATION = %i[line method file gem function library].freeze
    TEXT = TopText

    # One group and its rank.
    class Entry
      # From 1.
      attr_reader :rank
      # All that is known of the group: a HeapSample::Group.
      attr_reader :group
      # The HeapSample::Estimate behind the value.
      attr_reader :estimate
      # Bytes or objects, estimated.
      attr_reader :value
      # Part of the value of all rows, shown or not; nil if that is 0.
      attr_reader :share

      def initialize(rank, group, top) # :nodoc:
        @rank = rank
        @group = group
        @top = top
        @estimate = ranked_by.estimate(group)
        @value = ranked_by.number(@estimate)
        total = ranked_by.number(top.total)
        @share = value / total.to_f if total > 0
      end

      # A HeapSample::Place, or the name of a class, type, gem, function or library.
      def key = group.key

      # The 95% interval of the value, [low, high]; nil if it is not known.
      def interval
        @interval ||= ranked_by.interval(estimate)
      end

      # Samples behind it; 0 if not known.
      def samples = estimate.samples

      # Too few samples to rely on?
      def weak? = estimate.weak?

      # JSON-ready: numbers not rounded, intervals as [low, high].
      # With +stacks+, also the stack that allocated most of it.
      def to_h(stacks: false)
        inuse = ranked_by.part == :inuse
        info = @top.profile.info
        layout = @top.layout
        {
          rank: rank, **Analysis.key(key, layout), application: @top.application(self)&.then { |place| Analysis.key(place, layout) }, value: value, interval: interval, share: share, **estimate.to_h,
          slots_bytes: (group.slots_space if inuse), malloc_bytes: (group.malloc.space if inuse),
          awaits_major_gc_bytes: (group.awaiting if inuse), memsize_bytes: (group.memsize if info.memsize? && inuse), **shares,
          age_gcs: group.age(info.gc_count), freed_share: group.freed_share, freed_share_interval: group.freed_interval, lived_gcs: group.lifetime,
          classes: group.classes.first(Analysis::BRIEF).map { |reference, bytes| {class: @top.profile.text(reference), bytes: bytes} },
          stack: (@top.came_by.frames(key).map(&:to_s) if stacks)
        }.compact
      end

      # For pattern matching, the names of #to_h.
      def deconstruct_keys(_) = to_h

      def inspect
        "#<#{self.class} #{rank} #{Layout.new.place(key)} #{value.round} #{ranked_by.unit}, #{samples} samples>"
      end

      private

      def ranked_by = @top.value

      # What live slots hold, and do not share, where there is any.
      def shares
        return {} unless ranked_by.part == :inuse

        {holds_free_bytes: (group.holds_free.space unless group.holds_free.zero?), holds_free_interval: (group.holds_free.interval unless group.holds_free.zero?),
         holds_free_pinned_bytes: (group.holds_free_pinned unless group.holds_free.zero?),
         unshared_bytes: (group.unshared.space unless group.unshared.zero?), unshared_interval: (group.unshared.interval unless group.unshared.zero?),
         unshared_allocated_bytes: (group.unshared_allocated unless group.unshared.zero?)}
      end
    end

    # Of which rows; what they are grouped by.
    attr_reader :profile, :by
    # The HeapSample::Value that ranks.
    attr_reader :value
    # All rows summed: a HeapSample::Estimate.
    attr_reader :total

    # call-seq:
    #   Top.new(profile, by: :line, value: nil, kind: :both, top: 20)
    #
    # +by+: one of Groups::BY; +value+: one of Value::NAMES, by default
    # inuse_space or, before the first mark, young_space; +kind+: :slots, :malloc
    # or :both; +top+: rows.  Raises ArgumentError if one of them makes no sense.
    def initialize(profile, by: :line, value: nil, kind: :both, top: ROWS)
      Layout.check(top: top)
      @profile = profile
      @by = by
      @top = top
      @value = Value.of(value || Top.default(profile, kind), kind)
      @groups = profile.groups(by, kind: @value.kind)
      @total = @value.estimate(@groups.total)
    end

    # What is ranked by, by default.
    def self.default(profile, kind)
      wanted = Groups.wanted(kind)
      young = false
      profile.table.each do |row|
        next unless wanted.nil? || row[Columns::MALLOC] == wanted
        return :inuse_space if row[Columns::INUSE_SPACE] > 0

        young ||= row[Columns::YOUNG_SPACE] > 0
      end
      young ? :young_space : :inuse_space
    end

    # Yields HeapSample::Top::Entry, the largest first, at most +top+.
    def each(&block)
      entries.each(&block)
    end

    # The same as an Array.
    def entries
      @entries ||= @groups.ranked(@top) { |group| number(group) }.each_with_index.map { |group, index| Entry.new(index + 1, group, self) }
    end

    # How many groups there are in all.
    def count_all
      @count_all ||= @groups.count { |group| number(group) > 0 }
    end

    # The application's line that led to most of an entry, where it is not of that line itself; nil if there is none.
    def application(entry) # :nodoc:
      came_by.application(entry.key) if APPLICATION.include?(@by)
    end

    # By which stacks the memory of the rows was allocated: a HeapSample::CameBy.
    def came_by # :nodoc:
      @came_by ||= CameBy.of(@profile, @by, entries.map(&:key), kind: value.kind) { |row| row[Columns::PARTS.fetch(value.part) + 2] }
    end

    # JSON-ready: numbers not rounded, intervals as [low, high].  With +stacks+, rows have their stacks.
    def to_h(stacks: false)
      {by: @by, value: value.name, kind: value.kind, unit: value.unit, filter: @profile.filtered&.names,
       total: @total.to_h.merge(value: value.number(@total), interval: value.interval(@total)),
       pins: (@profile.info.walk&.pins&.map(&:to_h) if value.name == :holds_free && !@profile.filtered), rows_in_all: count_all, rows: entries.map { |entry| entry.to_h(stacks: stacks) }}.compact
    end

    private

    def number(group)
      estimate = value.estimate(group)
      estimate.zero? ? 0 : value.number(estimate)
    end
  end
end
