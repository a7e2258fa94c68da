# frozen_string_literal: true

module HeapSample
  # Three profiles: what came after the first, was in use in the second, and still
  # is in the third.  What a request or a GC cycle holds for a while is gone by then,
  # and what was there from the start does not count; what is left is retained.
  #
  #   puts HeapSample::Retained.new(first, second, third)
  #
  # Within one process the GC of birth tells when an object or a block of the third came,
  # so that nothing is subtracted, and the error is that of what is told:
  #
  # - born in a later GC than the first profile's and an earlier one than the
  #   second's: it came between them, and since it is in use it was in the second;
  # - born in the very GC of one of the two: what was in use in the first is taken
  #   off, and no more counts than was in use in the second.
  #
  # In files of format 2 malloc tells no births.  Of what is in use at a stack in the third so much is
  # retained as must be: what was in the second, less all that the second had from
  # before the first (see Diff for how many that are).  More may be: it is said to be
  # a bound (#bound?), and has no interval.
  #
  # Of several processes nothing more can be said than what both of the later ones
  # have more than the first: the smaller one less the first's, errors of both added.
  class Retained
    include Enumerable
    include Analysis

    # What one line, class, … retains.
    class Row
      attr_reader :key
      # HeapSample::Estimates: what is retained, and what came between the first two
      # profiles and was in use in the second.  Of several processes +stayed+ has the
      # smaller of the later two totals, and #less the first's.
      attr_reader :stayed, :came, :less

      def initialize(key) # :nodoc:
        @key = key
        @stayed = Estimate.new
        @came = Estimate.new
        @less = Estimate.new
        @classes = Hash.new(0.0)
        @bound = false
      end

      # Is more retained, perhaps?
      attr_accessor :bound # :nodoc:
      alias bound? bound

      def add(class_name, stayed, came) # :nodoc:
        @stayed.add(stayed)
        @came.add(came)
        @classes[class_name] += stayed.space
        self
      end

      # Of several processes.
      def compare(first, second, third) # :nodoc:
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

      # What came and what it is compared with, as a GrowthRow.
      def net = GrowthRow.new(nil, stayed, less)

      def samples = stayed.samples
      def weak? = stayed.weak?

      # Part of what came that is still there, by bytes, and its 95% interval; nil if
      # that is not known.
      def share
        [stayed.space / came.space.to_f, 1.0].min if less.zero? && !came.zero?
      end

      def share_interval
        return unless share && came.samples > 0 && !bound?

        Statistics.proportion(share, total: came.space, variance: came.variance, size: came.mean_size)
      end

      # Names of classes with their bytes, the largest first.
      def classes
        @classes.sort_by { |name, space| [-space, name] }
      end

      def inspect
        "#<#{self.class} #{Layout.new.place(key)} #{value.round} bytes, #{samples} samples>"
      end
    end

    # All rows together: a Retained::Row without a key.
    attr_reader :total

    # call-seq:
    #   Retained.new(first, second, third, by: :line, kind: :both, top: 20, width: 120, root: Dir.pwd, style: nil)
    #
    # Of profiles, or snapshots of the sampler.  Raises ArgumentError if they are of
    # one process and not in this order, if they are not filtered alike, and as
    # Report.new.
    def initialize(first, second, third, by: :line, kind: :both, top: Top::ROWS, width: Layout::WIDTH, root: Dir.pwd, style: nil)
      Layout.check(top: top)
      @by = by
      @kind = kind
      @wanted = Groups.wanted(kind)
      @top = top
      @layout = Layout.new(width: width, root: root, style: style)
      @profiles = [first, second, third].map { |one| one.respond_to?(:to_profile) ? one.to_profile : one }
      @profiles.each_cons(2) { |earlier, later| Diff.new(later, earlier) }      # checks order and filters
      @keys = @profiles.to_h { |profile| [profile, Keys.new(profile, by)] }.compare_by_identity
      @groups = {}
      one_process? ? retain : compare
      @total = sum
    end

    # Are all three of one session of one process?
    def one_process?
      @profiles.each_cons(2).all? { |one, other| one.info.same_run?(other.info) && one.info.gc_count && other.info.gc_count }
    end

    # Yields HeapSample::Retained::Row, the largest first, at most +top+.
    def each(&block)
      rows.first(@top).each(&block)
    end

    def to_s
      @layout.text([head, table(@top), conclusion])
    end

    # Title and table.
    def lines(top = @top)
      [*@layout.title(title), *table(top)]
    end

    def to_h
      {
        by: @by, kind: @kind, filter: @profiles[0].filtered&.names, one_process: one_process?,
        malloc_left_out: malloc_left_out?,
        profiles: @profiles.map { |profile| Header.new(profile.info, @layout).to_h.slice(:process_id, :taken, :gc) },
        total: row_to_h(total), rows_in_all: rows.size, rows: map { |row| {**Analysis.key(row.key, @layout), **row_to_h(row)} }
      }.compact
    end

    private

    def group(key)
      @groups[key] ||= Row.new(key)
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
      retain_births(false)
      return if @kind == :slots || malloc_left_out?

      births? ? retain_births(true) : retain_malloc
    end

    # Does malloc tell births?
    def births? = Diff.births?(*@profiles)

    # Of malloc or of slots.  Births at the GC of one of the first two profiles are
    # matched row by row.
    def retain_births(malloc)
      at_first, at_second = @profiles.first(2).map { |profile| profile.info.gc_count }
      interner = {}
      first, second = @profiles.first(2).zip([at_first, at_second]).map do |profile, gc|
        inuse_rows(profile, malloc).select { |row| row.birth_gc == gc }.to_h { |row| [row.identity(interner), row.inuse] }
      end
      @profiles.last(2).zip(%i[came stayed]) do |profile, side|
        inuse_rows(profile, malloc).each do |row|
          next unless row.birth_gc&.between?(at_first, at_second)

          estimate = row.inuse
          before = first[row.identity(interner)] if row.birth_gc == at_first
          estimate = estimate.without(before) if before
          estimate = limited(estimate, second[row.identity(interner)]) if side == :stayed && row.birth_gc == at_second
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
      group(@keys[row.profile].of(row.columns))
        .add(row.class_name, side == :stayed ? estimate : nothing, side == :came ? estimate : nothing)
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
      nothing = Estimate.new
      totals.flat_map(&:keys).uniq.each do |key|
        sums = totals.map { |known| known.fetch(key, nothing) }
        group(key).compare(*sums)
      end
    end

    def inuse(group)
      malloc_left_out? ? group.inuse.less(group.malloc) : group.inuse
    end

    # Within one process numbers of samples are compared, which must stand for as much.
    def malloc_left_out?
      states = @profiles.map { |profile| profile.malloc? || profile.info.malloc_state == "on" }
      return true if states.any? && !states.all?

      states.all? && one_process? && @profiles.map { |profile| [profile.info.malloc_interval, profile.info.malloc_interval_changes] }.uniq.size > 1
    end

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

    def sum
      total = Row.new(nil)
      return total.compare(*@profiles.map { |profile| inuse(profile.groups(@by, kind: @kind).total) }) unless one_process?

      @groups.each_value do |row|
        total.add("", row.stayed, row.came)
        total.bound ||= row.bound?
      end
      total
    end

    def summary = "by #{@by}, #{rows.size} rows, #{amount(total)}"

    def title
      "Retained: came after the first profile, was in use in the second, and still is in the third#{Value::KINDS.fetch(@kind)}: " \
        "#{amount(total)}"
    end

    def amount(row)
      return "nothing" unless row.value > 0
      return "at least #{@layout.bytes(row.value)} in #{@layout.count(row.stayed.objects)} objects, #{@layout.count(row.samples)} samples" if row.bound?
      return @layout.amount(row.stayed) if row.less.zero?

      "#{@layout.bytes(row.value)} (#{interval(row)})"
    end

    def interval(row)
      return "or more" if row.bound?
      return @layout.interval(row.stayed) if row.less.zero?

      row.interval ? @layout.range(*row.interval, sign: true) : "?"
    end

    def head
      lines = [spans]
      if one_process?
        lines << whole if total.share
        lines << "No GC ran between two of the profiles: what is in use is what the same mark found." if same_gc? && @kind != :malloc
        lines << malloc_note if malloc_rows?
      else
        lines << "The profiles are not of one session of one process: what both of the later ones have more than the first, " \
                 "and by more than sampling explains."
      end
      lines << "Malloc was not sampled alike for all three profiles: it is left out." if malloc_left_out? && @kind != :slots
      [*@layout.title(title), *lines.compact.flat_map { |line| @layout.sentence(line) }, *Header.part(@profiles[0], @layout)]
    end

    # What is not known of malloc: nil if that is nothing.
    def malloc_note
      unless births?
        return "These files do not tell the births of malloc's blocks: at least so much of it is retained, and more where blocks come and go."
      end

      "Blocks of malloc that came or went while no GC ran cannot be told from those that they replaced." if same_gc?
    end

    def malloc_rows?
      @kind != :slots && !malloc_left_out? && @profiles.any?(&:malloc?)
    end

    def same_gc?
      @profiles.map { |profile| profile.info.gc_count }.uniq.size < 3
    end

    # "10 min 0 s, 10 GCs from the first to the second; …"
    def spans
      return unless one_process?

      %w[first second third].each_cons(2).zip(@profiles.each_cons(2)).map do |(from, to), (earlier, later)|
        seconds = later.info.taken - earlier.info.taken if later.info.taken && earlier.info.taken
        gcs = later.info.gc_count - earlier.info.gc_count
        "#{[(@layout.duration(seconds) if seconds), "#{@layout.count(gcs)} GC#{"s" unless gcs == 1}"].compact.join(", ")} " \
          "from the #{from} to the #{to}"
      end.join("; ")
    end

    def whole
      "Of #{@layout.bytes(total.came.space)}#{" #{@layout.bracketed(total.came)}" unless total.bound?} that came, #{share(total)} is still in use."
    end

    def share(row)
      return "at least #{@layout.percent(row.share)}" if row.bound?

      limits = row.share_interval
      "#{@layout.percent(row.share)}#{" (#{@layout.percents(*limits)})" if limits}"
    end

    def table(top)
      shown = rows.first(top)
      return [] if shown.empty?

      cells = shown.each_with_index.map { |row, index| cells(row, index) }
      [*@layout.table(columns, cells, shown.map { |row| :weak if row.weak? }),
       *@layout.more(rows.size - shown.size), *@layout.legend(shown.any?(&:weak?))]
    end

    def columns
      sides = one_process? ? [["came", :right, 4], ["still in use", :right, 3], ["95% interval", :right, 2]] : SIDES
      [["", :right], ["bytes", :right], ["95% interval", :right, 8], *sides, ["samples", :right, 5],
       *([["class", :left, 1]] if classes?), [@by.to_s, :left]]
    end

    SIDES = [["first", :right, 3], ["second", :right, 4], ["the smaller", :right, 2]].freeze

    def classes? = @by != :class && one_process?

    def cells(row, index)
      sides = if one_process?
                [@layout.bytes(row.came.space), row.share ? "#{"≥ " if row.bound?}#{@layout.percent(row.share)}" : Layout::NOTHING,
                 row.share_interval ? @layout.percents(*row.share_interval) : Layout::NOTHING]
              else
                [row.less, row.came, row.stayed].map { |side| @layout.bytes(side.space) }
              end
      [@layout.rank(index + 1, row.weak?), @layout.bytes(row.value), interval(row), *sides, @layout.count(row.samples),
       *(ClassMix.first_of(row.classes, @layout) if classes?), row.key]
    end

    def conclusion
      row = rows.first
      return @layout.sentence("Nothing that came after the first profile is known to be retained.") unless row

      still = ", #{share(row)} of what came there" if row.share
      weak = " Too few samples to rely on." if row.weak?
      @layout.sentence("The largest: #{@layout.subject(row.key)} retains #{amount(row)}#{still}.#{weak}")
    end

    def row_to_h(row)
      {bytes: row.value, bytes_interval: row.interval, lower_bound: (true if row.bound?), samples: row.samples, weak: row.weak?, came: row.came.to_h,
       objects: (row.stayed.objects if one_process?), still_in_use_share: row.share, still_in_use_share_interval: row.share_interval,
       first: (row.less.to_h unless one_process?),
       classes: (row.classes.first(BRIEF).map { |name, bytes| {class: name, bytes: bytes} } if row.key && one_process?)}.compact
    end
  end
end
