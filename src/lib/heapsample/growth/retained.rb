# frozen_string_literal: true

module HeapSample
  # Three profiles: memory allocated after the first that is live in the second and in the third. What a request or a
  # GC cycle holds for a while is freed by then, and memory from the start does not count. The rest is retained.
  #
  #   puts HeapSample::Retained.new(first, second, third)
  #
  # Within one process the GC count of the allocation (+allocation_gc+) shows when an object or a block of the third profile was
  # allocated. So nothing is subtracted, and there is only the error of the result:
  #
  # - allocated at a later GC than the first profile and an earlier one than the
  #   second: it is live, so it was live in the second, too;
  # - allocated at the very GC of one of the two: memory that was live in the first is
  #   subtracted, and at most the memory that was live in the second counts.
  #
  # Where no GC ran between two of the profiles, the GC counts of blocks are equal. Then the least memory of a stack that
  # must be retained counts: the memory of the second, less all memory of the second from before the first (see Diff for
  # how much that is). More may be retained: the figure is a lower bound (#bound?), without an interval.
  #
  # For several processes, only what both later profiles have more than the first counts: the smaller one less the first,
  # with both errors added.
  class Retained
    include Enumerable
    include Analysis

    # What one line, class, … retains.
    class Entry
      attr_reader :key
      # HeapSample::Estimates: what is retained, and what was allocated between the first two profiles and live in the
      # second. Of several processes +stayed+ has the smaller of the later two totals, and #less the first's.
      attr_reader :stayed, :came, :less
      # Bytes of the retained memory that no major GC has examined.
      attr_reader :awaiting

      def initialize(key) # :nodoc:
        @key = key
        @stayed = Estimate.new
        @came = Estimate.new
        @less = Estimate.new
        @awaiting = 0.0
        @classes = Hash.new(0.0)
        @bound = false
      end

      # Is more retained, perhaps?
      attr_accessor :bound # :nodoc:
      alias bound? bound

      def add(class_name, stayed, came, awaiting = 0.0) # :nodoc:
        @awaiting += awaiting
        @stayed.add(stayed)
        @came.add(came)
        @classes[class_name] += stayed.space
        self
      end

      # Of several processes.
      def compare(first, second, third) # :nodoc:
        @compared = true
        @came = second
        @stayed = [second, third].min_by(&:space)
        @less = first
        self
      end

      # Bytes.
      def value = stayed.space - less.space

      # Its 95% interval; nil if it is not known.
      def interval
        return if bound?
        return stayed.interval if less.zero?

        net.space_interval if stayed.samples > 0
      end

      # What was allocated and what it is compared with, as a GrowthRow.
      def net = GrowthRow.new(nil, stayed, less)

      # Samples behind what is retained.
      def samples = stayed.samples
      # Are there fewer than 10 of them?
      def weak? = stayed.weak?

      # Part of the allocated memory that is still live, by bytes, and its 95% interval; nil if that is not known.
      def share
        [stayed.space / came.space.to_f, 1.0].min if less.zero? && !came.zero?
      end

      # The 95% interval of #share; nil if it is not known.
      def share_interval
        return unless share && came.samples > 0 && !bound?

        Statistics.proportion(share, total: came.space, variance: came.variance, size: came.mean_size)
      end

      # Names of classes with their bytes, the largest first.
      def classes
        @classes.sort_by { |name, space| [-space, name] }
      end

      # JSON-ready: numbers not rounded, intervals as [low, high].
      def to_h
        {**(key ? Analysis.key(key) : {}), bytes: value, bytes_interval: interval, lower_bound: (true if bound?),
         awaits_major_gc_bytes: (awaiting unless @compared), samples: samples, weak: weak?,
         came: came.to_h, objects: (stayed.objects unless @compared), still_live_share: share, still_live_share_interval: share_interval,
         first: (less.to_h if @compared), classes: (classes.first(Analysis::BRIEF).map { |name, bytes| {class: name, bytes: bytes} } if key && !@compared)}.compact
      end

      # For pattern matching, the names of #to_h.
      def deconstruct_keys(_) = to_h

      def inspect
        "#<#{self.class} #{Layout.new.place(key)} #{value.round} bytes, #{samples} samples>"
      end
    end

    TEXT = RetainedText

    # All of them together: a Retained::Entry without a key.
    attr_reader :total
    # The three HeapSample::Profiles; what rows are summed by, and the kind of memory.
    attr_reader :profiles, :by, :kind

    # call-seq:
    #   Retained.new(first, second, third, by: :line, kind: :both, top: 20)
    #
    # Of profiles, or snapshots of the sampler. Raises ArgumentError if they are of one process and not in this order,
    # if they are not filtered alike, and as Report.new.
    def initialize(first, second, third, by: :line, kind: :both, top: Top::ROWS)
      Layout.check(top: top)
      @by = by
      @kind = kind
      @wanted = Groups.wanted(kind)
      @top = top
      @profiles = [first, second, third].map { |one| one.respond_to?(:to_profile) ? one.to_profile : one }
      @profiles.each_cons(2) { |earlier, later| Diff.new(later, earlier) }      # checks order and filters
      if (ages = Dump::Ages.of(@profiles))
        @profiles, @identified = ages.profiles, ages.note
      end
      @keys = @profiles.to_h { |profile| [profile, Keys.new(profile, by)] }.compare_by_identity
      @groups = {}
      @held = []
      one_process? ? retain : compare
      @total = sum
    end

    # Of heap dumps a sentence: how their objects were recognised, and what is not known.
    attr_reader :identified

    # Are all three of one session of one process?
    def one_process?
      @profiles.each_cons(2).all? { |one, other| one.info.same_run?(other.info) && one.info.gc_count && other.info.gc_count }
    end

    # Yields HeapSample::Retained::Entry, the largest first, at most +top+.
    def each(&block)
      rows.first(@top).each(&block)
    end

    # JSON-ready: numbers not rounded, intervals as [low, high]. With +stacks+, rows have their stacks.
    def to_h(stacks: false)
      names = layout
      {
        by: @by, kind: @kind, filter: @profiles[0].filtered&.names, one_process: one_process?,
        malloc_left_out: malloc_left_out?, identified: identified,
        profiles: @profiles.map { |profile| profile.info.to_h.slice(:process_id, :taken, :gc) },
        total: total.to_h, rows_in_all: rows.size, rows: map { |entry| row_to_h(entry, names, stacks) }
      }.compact
    end

    # Did a GC run between each two? If not, it is not known which blocks were allocated when.
    def gcs_between? = @profiles.map { |profile| profile.info.gc_count }.uniq.size == 3

    # Is malloc left out? Within one process numbers of samples are compared, which must stand for as much.
    def malloc_left_out?
      states = @profiles.map { |profile| profile.malloc? || profile.info.malloc_state == "on" }
      return true if states.any? && !states.all?

      states.all? && one_process? && @profiles.map { |profile| profile.info.malloc_weights }.uniq.size > 1
    end

    # The application's line that led to most of an entry, where it is not of that line itself; nil if there is none.
    def application(entry) # :nodoc:
      came_by.application(entry.key) if Top::APPLICATION.include?(@by)
    end

    # By which stacks the retained memory was allocated, in the groups that are shown: a HeapSample::CameBy.
    def came_by # :nodoc:
      @came_by ||= @held.each_with_object(CameBy.new(@by, map(&:key))) { |(row, bytes), came_by| came_by.add(row.profile, row.columns, bytes) }
    end

    # The largest Entry that is code of the program; else the largest one, nil if there is none.
    def largest = rows.find { |one| !Keys.machinery?(one.key) } || rows.first

    # Those that are more than noise; within one process all are.
    def rows
      @rows ||= begin
        rows = @groups.values.select { |row| row.value > 0 && row.stayed.space > 0 }
        unless one_process?
          found = Statistics.discoveries(rows.map { |row| row.net.p_value })
          rows = rows.zip(found).filter_map { |row, grown| row if grown }
        end
        rows.sort_by.with_index { |row, index| [-row.value, index] }
      end
    end

    private

    def directory = @profiles&.last&.info&.directory

    def row_to_h(entry, layout, stacks)
      figures = {**entry.to_h, **Analysis.key(entry.key, layout), application: application(entry)&.then { |place| Analysis.key(place, layout) }}.compact
      stacks ? figures.merge(stack: came_by.frames(entry.key).map(&:to_s)) : figures
    end

    def group(key)
      @groups[key] ||= Entry.new(key)
    end

    def wanted?(columns)
      @wanted.nil? || columns[Columns::MALLOC] == @wanted
    end

    def inuse_rows(profile, malloc)
      profile.rows.select do |row|
        columns = row.columns
        columns[Columns::MALLOC] == malloc && wanted?(columns) && columns[Columns::INUSE_OBJECTS] > 0
      end
    end

    def retain
      retain_by_gc(false)
      return if @kind == :slots || malloc_left_out?

      gcs_between? ? retain_by_gc(true) : retain_malloc
    end

    # Of malloc or of slots. Allocations at the GC of one of the first two profiles are matched row by row.
    def retain_by_gc(malloc)
      at_first, at_second = @profiles.first(2).map { |profile| profile.info.gc_count }
      interner = {}
      first, second = @profiles.first(2).zip([at_first, at_second]).map do |profile, gc|
        inuse_rows(profile, malloc).select { |row| row.allocation_gc == gc }.to_h { |row| [row.identity(interner), row.inuse] }
      end
      @profiles.last(2).zip(%i[came stayed]) do |profile, side|
        inuse_rows(profile, malloc).each do |row|
          next unless row.allocation_gc&.between?(at_first, at_second)

          estimate = row.inuse
          before = first[row.identity(interner)] if row.allocation_gc == at_first
          estimate = estimate.without(before) if before
          estimate = limited(estimate, second[row.identity(interner)]) if side == :stayed && row.allocation_gc == at_second
          note(row, side, estimate)
        end
      end
    end

    def limited(estimate, other)
      other ? estimate.common(other, [estimate.samples, other.samples].min) : Estimate.new
    end

    def note(row, side, estimate)
      return if estimate.zero?

      nothing = Estimate.new
      @held << [row, estimate.space] if side == :stayed
      group(@keys[row.profile].of(row.columns))
        .add(row.class_name, side == :stayed ? estimate : nothing, side == :came ? estimate : nothing,
             side == :stayed && row.profile.info.awaits_major?(row.allocation_gc) ? estimate.space : 0.0)
    end

    # The same of what may be more.
    def note_bound(row, side, estimate)
      group = note(row, side, estimate)
      group.bound = true if group
    end

    # See the head of this file; +old+ and +kept+ are numbers of samples.
    def retain_malloc
      interner = {}
      first, second, third = @profiles.map { |profile| Diff.held(profile.rows.select { |row| row.malloc? && wanted?(row.columns) }, interner) }
      nothing = Diff::Held.new(nil, Estimate.new, 0)
      second.each do |stack, there|
        old = Diff.stayed(there, first.fetch(stack, nothing))
        note_bound(there.row, :came, there.inuse.less(first.fetch(stack, nothing).inuse.common(there.inuse, old)))
        still = third[stack]
        next unless still

        kept = [Diff.stayed(still, there) - old, 0].max
        note_bound(still.row, :stayed, still.inuse.common(there.inuse, kept))
      end
    end

    # Of several processes: totals by key.
    def compare
      totals = @profiles.map do |profile|
        profile.groups(@by, kind: @kind).to_h { |group| [group.key, inuse(group)] }
      end
      @profiles.last.rows.each { |row| @held << [row, row.inuse.space] if wanted?(row.columns) }
      nothing = Estimate.new
      totals.flat_map(&:keys).uniq.each do |key|
        sums = totals.map { |known| known.fetch(key, nothing) }
        group(key).compare(*sums)
      end
    end

    def inuse(group)
      malloc_left_out? ? group.inuse.less(group.malloc) : group.inuse
    end

    def sum
      total = Entry.new(nil)
      return total.compare(*@profiles.map { |profile| inuse(profile.groups(@by, kind: @kind).total) }) unless one_process?

      @groups.each_value do |row|
        total.add("", row.stayed, row.came, row.awaiting)
        total.bound ||= row.bound?
      end
      total
    end
  end
end
