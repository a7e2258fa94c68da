# frozen_string_literal: true

module HeapSample
  module Dump
    # Several heap dumps of a process, in their order: what grew from each to the next.
    #
    # Growth is exact.  But a few moments cannot show whether it ends: a verdict takes as many points as Verdict::ENOUGH.  What grows in every
    # step, and of whose new objects many are still there at the end, is where to look.
    class Trend
      include Analysis
      include Enumerable

      TEXT = TrendText
      ROWS = 10
      # A row has such a part of all growth, at least.
      PART_LEAST = 0.01

      # A line, or a class: its bytes and objects in each dump; bytes of its objects that the second dump had first and the last one has still,
      # nil if that is not known; and what retains most of it in the last dump, a NearestHolder::Answer, or nil.
      Row = Struct.new(:key, :bytes, :objects, :still, :holder) do
        # From the first dump to the last.
        def grew = bytes.last - bytes.first
        # JSON-ready.
        def to_h(layout) = {**Analysis.key(key, layout), bytes: bytes, objects: objects, grew_bytes: grew, still_live_bytes: still, holder: holder&.to_h}.compact
      end

      # The Profiles, and what rows are.
      attr_reader :profiles, :by
      # How objects of the dumps were recognised: a sentence, nil of two dumps.
      attr_reader :identified

      # +profiles+: at least two, of heap dumps; +by+: one of Groups::BY, by default lines if allocations were traced, else classes.
      def initialize(profiles, by: nil, top: ROWS)
        raise ArgumentError, "at least two heap dumps are needed" unless profiles.size >= 2 && profiles.all?(&:dump)

        Layout.check(top: top)
        @profiles = profiles
        @by = by || (profiles.all? { |profile| profile.dump.traced? } ? :line : :class)
        @top = top
        @still = still
      end

      # Bytes of all objects in each dump.
      def bytes = @bytes ||= profiles.map { |profile| profile.groups(:class).total.inuse.space }

      # Did it grow from each dump to the next?
      def grows? = bytes.each_cons(2).all? { |one, other| other > one }

      # Yields each Row that grew in every step, the largest growth first, at most +top+.
      def each(&block) = rows.first(@top).each(&block)

      # All such rows, without garbage.
      def rows = split.last

      # Bytes by which the lines of most garbage grew: what no root leads to, and no GC has freed yet.
      def garbage = split.first.sum(&:grew)

      # The state of a ProcessDiagnosis: a few moments are no evidence.
      def state = :unknown

      # JSON-ready.
      def to_h = {state: state, dumps: profiles.size, bytes: bytes, by: by, identified: identified, garbage_bytes: garbage, rows_in_all: rows.size, rows: map { |row| row.to_h(layout) }}.compact

      private

      def split = @split ||= find.partition { |row| row.holder && !row.holder.known? }

      def find
        sums = profiles.map { |profile| profile.groups(by).to_h { |group| [group.key, group.inuse] } }
        all = sums.last.keys.map { |key| Row.new(key, *%i[space objects].map { |name| sums.map { |sum| sum[key]&.public_send(name) || 0 } }) }
        least = PART_LEAST * [bytes.last - bytes.first, 1].max
        grown = all.select { |row| row.grew >= least && row.bytes.each_cons(2).all? { |one, other| other > one } }
        # A line is known of what was traced.
        grown.sort_by.with_index { |row, index| [Keys.machinery?(row.key) ? 1 : 0, -row.grew, index] }.each { |row| complete(row) }
      end

      def complete(row)
        row.still = @still[row.key]
        row.holder = @profiles.last.nearest_holder&.of_rows(by_key.fetch(row.key, []))
      end

      def by_key
        @by_key ||= Keys.new(@profiles.last, by).then { |keys| @profiles.last.table.group_by { |row| keys.of(row) } }
      end

      def still
        return {} if @profiles.size < 3

        retained = Retained.new(*@profiles.values_at(0, 1, -1), by: by)
        @identified = retained.identified
        retained.one_process? ? Hash.new(0.0).merge(retained.rows.to_h { |row| [row.key, row.stayed.space] }) : {}
      end
    end
  end
end
