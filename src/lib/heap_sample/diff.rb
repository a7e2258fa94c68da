# frozen_string_literal: true

module HeapSample
  # Takes one profile from another: what is in use later that was not earlier,
  # and the other way round.
  #
  # Two profiles of one session hold the same samples, so most of the noise of
  # the two totals is common to both and must not be counted twice.  Rows are
  # matched by stack, class, type, slot size, thread and GC of birth:
  #
  # - in the later profile only: born since (or young in the earlier one, which
  #   counts as born since, for it was not known to be in use): gained;
  # - in the earlier one only: died since: lost;
  # - in both: nothing more can be born with that GC count, so the later samples
  #   are some of the earlier ones and the rest died: lost, with the variance
  #   of the rest, var(earlier) - var(later);
  # - in both, and some of the row was young earlier (the one GC count during
  #   which the mark ended): which samples are the same is not known.  Both
  #   sides are kept whole, as gained and as lost, which overstates the
  #   variance: at most var(later) + var(earlier).
  #
  # If the sampling interval changed in between, every survivor's weight did,
  # and in two processes or sessions no sample is common: rows are not matched
  # and the variances of both sides add.  Growth#matched? tells.
  class Diff
    # Raises ArgumentError unless both are profiles, +earlier+ the earlier one
    # if they are of one process.
    def initialize(later, earlier)
      raise ArgumentError, "#{earlier.class} is not a profile" unless earlier.is_a?(Profile)

      @later = later
      @earlier = earlier
      check_order
    end

    def growth
      rows = matched? ? matched_rows : gained_rows(@later.rows) + lost_rows(@earlier.rows)
      Growth.new(@later, @earlier, rows, matched: matched?)
    end

    private

    def check_order
      later, earlier = @later.info, @earlier.info
      return unless later.same_run?(earlier) && later.taken && earlier.taken && later.taken < earlier.taken

      raise ArgumentError, "the profile to subtract was taken after the other, " \
                           "at #{earlier.taken.utc.strftime("%H:%M:%S")} and #{later.taken.utc.strftime("%H:%M:%S")} UTC"
    end

    def matched?
      later, earlier = @later.info, @earlier.info
      later.same_run?(earlier) && later.interval == earlier.interval &&
        later.interval_changes == earlier.interval_changes
    end

    def matched_rows
      interner = {}
      before = {}
      @earlier.rows.each { |row| before[key(row, interner)] = row if live?(row, Columns::INUSE) }
      rows = []
      @later.rows.each do |row|
        next unless live?(row, Columns::INUSE)

        was = before.delete(key(row, interner))
        rows << (was ? pair(row, was) : GrowthRow.new(row, row.inuse, Estimate.new))
      end
      rows.reject(&:zero?) + lost_rows(before.values)
    end

    def key(row, interner)
      [row.profile.stacks.identity(row.columns[Columns::STACK], interner),
       row.class_name, row.type, row.slot_size, row.thread, row.birth_gc]
    end

    def pair(row, was)
      if live?(was, Columns::YOUNG) || row.inuse.samples > was.inuse.samples
        GrowthRow.new(row, row.inuse, was.inuse)
      else
        GrowthRow.new(row, Estimate.new, was.inuse.without(row.inuse))
      end
    end

    def gained_rows(rows)
      rows.filter_map { |row| GrowthRow.new(row, row.inuse, Estimate.new) if live?(row, Columns::INUSE) }
    end

    def lost_rows(rows)
      rows.filter_map { |row| GrowthRow.new(row, Estimate.new, row.inuse) if live?(row, Columns::INUSE) }
    end

    def live?(row, at)
      row.columns[at + 1] > 0
    end
  end
end
