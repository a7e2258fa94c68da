# frozen_string_literal: true

module HeapSample
  # Subtracts one profile from another: what is live later but was not earlier, and the reverse.
  #
  # Two profiles of one session hold the same samples, so most of the noise of the two totals is common to both and must
  # not be counted twice. Rows are matched by stack, class, type, slot size and GC count of the allocation:
  #
  # - in the later profile only: allocated since (or young in the earlier one, which
  #   counts as allocated since, because it was not known to be live): gained;
  # - in the earlier one only: freed since: lost;
  # - in both: nothing more can be allocated with that GC count, so the later samples
  #   are some of the earlier ones and the rest was freed: lost, with the variance
  #   of the rest, var(earlier) - var(later);
  # - in both, and some of the row was young earlier (the one GC count during
  #   which the mark ended): which samples are the same is not known.  Both
  #   sides are kept whole, as gained and as lost, which overstates the
  #   variance: at most var(later) + var(earlier).
  #
  # Rows of malloc are matched likewise. What is allocated is known exactly at the snapshot, whatever GCs found; so more
  # blocks may be allocated with the earlier profile's own GC count, and of the rows with that count it is not known which
  # samples are the same. There, and in merged profiles, rows are matched by stack. The sampler counts all samples ever
  # allocated at a stack. Of the n0 samples live earlier and the n1 live later, at most
  #
  #   allocated = ever1 - ever0,    freed = allocated - (n1 - n0)
  #
  # are not common (less samples allocated since with a later GC count, which are known). Neither can exceed its side:
  # allocated <= n1, freed <= n0 (memory that was allocated and freed in between is in no total). Gained and lost are both
  # estimates less a common part: the n1 - allocated samples that stayed, at the smaller of the two means; so gained - lost is the
  # difference of the two estimates whatever the sizes (malloc's are weighted by the mean size of a stack's samples, so
  # one more may change what the others stand for), and a row in which nothing happened adds no error, be it 100 MB.
  #
  # An interval that moves (<tt>interval=auto</tt>) changes no survivor's weight. Where the sampler had too many samples
  # and thinned them in between, the others' weights did, and in two processes or sessions no sample is common: rows are
  # not matched and the variances of both sides add. See Growth#matched?. Slots and malloc have intervals of their
  # own. If one of the two profiles has no malloc, malloc is left out: see Growth#malloc_left_out?.
  class Diff
    # Raises ArgumentError unless both are profiles, +earlier+ the earlier one if they are of one process.
    def initialize(later, earlier)
      [earlier, later].each { |one| raise ArgumentError, "#{one.class} is not a profile" unless one.is_a?(Profile) }

      @later = later
      @earlier = earlier
      check_order
      return if later.filtered == earlier.filtered

      raise ArgumentError, "the two profiles have different filters (#{[earlier, later].map { |one| one.filtered || "none" }.join("; ")}); filter both alike"
    end

    def growth
      slots, malloc = [@later, @earlier].map { |profile| profile.rows.partition { |row| !row.malloc? } }.transpose
      rows = if slots_matched? then matched_rows(*slots)
             else @later.info.dump? ? paired_rows(*slots) : unmatched_rows(*slots)
             end
      left_out = malloc_left_out?(malloc)
      unless left_out
        rows.concat(malloc_rows(*malloc))
      end
      matched = slots_matched? && (left_out || malloc.all?(&:empty?) || malloc_matched?)
      Growth.new(@later, @earlier, rows, matched: matched, malloc_left_out: left_out)
    end

    # Was a row of malloc allocated :before GC number +gc+, :at it, or :since? nil of a row of totals.
    def self.side(row, gc) # :nodoc:
      allocation_gc = row.allocation_gc
      allocation_gc && %i[before at since][(allocation_gc <=> gc) + 1]
    end

    # Rows of malloc by stack, equal for equal stacks of profiles with one +interner+. If they are only some of +all+,
    # allocations are all allocations, less the live ones from after GC number +known_from+.
    def self.held(rows, interner, all = nil, known_from: nil) # :nodoc:
      held = rows.each_with_object({}) do |row, held|
        (held[identity(row, interner)] ||= Held.new(row, Estimate.new, 0)).add(row)
      end
      return held unless all

      held.each_value { |one| one.ever = 0 }
      all.each_with_object(held) do |row, known|
        one = known[identity(row, interner)] or next
        one.ever += row.alloc.samples
        one.ever -= row.inuse.samples if known_from && row.allocation_gc && row.allocation_gc > known_from
      end
    end

    def self.identity(row, interner) # :nodoc:
      row.profile.stacks.identity(row.columns[Columns::STACK], interner)
    end

    # How many samples that are live now must have been live before.
    def self.stayed(now, was) # :nodoc:
      change = now.inuse.samples - was.inuse.samples
      now.inuse.samples - (now.ever - was.ever).clamp([change, 0].max, now.inuse.samples)
    end

    private

    def check_order
      later, earlier = @later.info, @earlier.info
      # The time of a dump's file may be the time of its copy.
      return if later.dump?
      return unless later.same_run?(earlier) && later.taken && earlier.taken && later.taken < earlier.taken

      raise ArgumentError, "the profile to subtract was taken after the other; swap them (taken " \
                           "at #{earlier.taken.utc.strftime("%H:%M:%S")} and #{later.taken.utc.strftime("%H:%M:%S")} UTC)"
    end

    # Rows of heap dumps are totals.
    def slots_matched?
      later, earlier = @later.info, @earlier.info
      !later.dump? && later.same_run?(earlier) && later.weights == earlier.weights
    end

    def malloc_matched?
      later, earlier = @later.info, @earlier.info
      later.same_run?(earlier) && later.malloc_weights == earlier.malloc_weights
    end

    def malloc_rows(later, earlier)
      return unmatched_rows(later, earlier) unless malloc_matched?
      return matched_malloc(later, earlier) unless (gc = @earlier.info.gc_count)

      new, same, old = later.group_by { |row| Diff.side(row, gc) }.values_at(:since, :at, :before).map { |some| some || [] }
      was_same, was_old = earlier.group_by { |row| Diff.side(row, gc) }.values_at(:at, :before).map { |some| some || [] }
      [*matched_rows(old, was_old), *matched_malloc(same, was_same, later: later, earlier: earlier), *gained_rows(new)]
    end

    # Was one of the two profiles taken while malloc was not sampled?
    def malloc_left_out?(malloc)
      return false if malloc.all?(&:empty?)

      [@later, @earlier].zip(malloc).any? do |profile, rows|
        rows.empty? && profile.info.malloc_state != "on"
      end
    end

    # The malloc memory of a stack: several rows if its native frames differ in what no frame shows.
    Held = Struct.new(:row, :inuse, :ever) do
      def add(row)
        inuse.add(row.inuse)
        self.ever += row.alloc.samples
      end
    end

    # +later+ and +earlier+: all rows, from which allocations are counted, if those given are not all.
    def matched_malloc(rows, rows_before, later: nil, earlier: nil)
      interner = {}
      before = Diff.held(rows_before, interner, earlier)
      rows = Diff.held(rows, interner, later, known_from: @earlier.info.gc_count).map do |stack, now|
        was = before.delete(stack)
        GrowthRow.new(now.row, *(was ? exchanged(now, was) : [now.inuse, Estimate.new]))
      end
      before.each_value { |was| rows << GrowthRow.new(was.row, Estimate.new, was.inuse) }
      rows.reject { |row| row.gained.space.zero? && row.lost.space.zero? }
    end

    # What a row of malloc gained and lost.
    def exchanged(now, was)
      stayed = Diff.stayed(now, was)
      return [Estimate.new, Estimate.new] if stayed == now.inuse.samples && stayed == was.inuse.samples

      common = was.inuse.common(now.inuse, stayed)
      [now.inuse.less(common), was.inuse.less(common)]
    end

    def matched_rows(later, earlier)
      interner = {}
      before = {}
      earlier.each { |row| before[row.identity(interner)] = row if live?(row, Columns::INUSE) }
      rows = []
      later.each do |row|
        next unless live?(row, Columns::INUSE)

        was = before.delete(row.identity(interner))
        rows << (was ? pair(row, was) : GrowthRow.new(row, row.inuse, Estimate.new))
      end
      rows.reject(&:zero?) + lost_rows(before.values)
    end

    def pair(row, was)
      if live?(was, Columns::YOUNG) || row.inuse.samples > was.inuse.samples
        GrowthRow.new(row, row.inuse, was.inuse)
      else
        GrowthRow.new(row, Estimate.new, was.inuse.without(row.inuse))
      end
    end

    # Of heap dumps: both totals of each row.
    def paired_rows(later, earlier)
      interner = {}
      before = earlier.to_h { |row| [row.identity(interner), row] }
      rows = later.map { |row| GrowthRow.new(row, row.inuse, before.delete(row.identity(interner))&.inuse || Estimate.new) }
      rows + lost_rows(before.values)
    end

    def unmatched_rows(later, earlier)
      gained_rows(later) + lost_rows(earlier)
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
