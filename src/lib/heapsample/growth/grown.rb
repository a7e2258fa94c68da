# frozen_string_literal: true

module HeapSample
  # Which part of a profile's rows was allocated after an earlier profile.
  class Grown
    # +growth+: between the two.
    def initialize(growth)
      later, earlier = growth.later, growth.earlier
      @gained = Hash.new(0.0).compare_by_identity
      growth.rows.each { |row| @gained[row.row.columns] = [row.space, 0.0].max }
      @since = earlier.info.gc_count if later.info.same_run?(earlier.info)
      @interner = {}
      @young = young(earlier)
      later.rows.each { |row| @gained[row.columns] += came_young(row) if row.columns[Columns::YOUNG_SPACE] > 0 }
    end

    # call-seq:
    #   part(row, estimate) -> HeapSample::Estimate
    #
    # The part of an estimate of a row that was allocated since.
    def part(row, estimate)
      all = row[Columns::INUSE_SPACE] + row[Columns::YOUNG_SPACE]
      return Estimate.new unless all > 0

      share = [@gained[row] / all.to_f, 1.0].min
      samples = (estimate.samples * share).round
      return Estimate.new if samples.zero?

      Estimate.new(samples, estimate.objects * share, estimate.space * share, estimate.variance * share, estimate.objects_variance * share)
    end

    private

    # Bytes that were young before, by the identity of a row.
    def young(earlier)
      return {} unless @since

      earlier.rows.each_with_object(Hash.new(0.0)) do |row, sums|
        sums[row.identity(@interner)] += row.columns[Columns::YOUNG_SPACE] if row.columns[Columns::YOUNG_SPACE] > 0
      end
    end

    # Growth of memory that no mark has seen yet: memory allocated before does not count, memory allocated since does; of
    # memory allocated between the same two GCs, what was not there before.
    def came_young(row)
      space = row.columns[Columns::YOUNG_SPACE]
      return space if @since.nil? || row.allocation_gc.nil? || row.allocation_gc > @since

      row.allocation_gc < @since ? 0.0 : [space - @young.fetch(row.identity(@interner), 0.0), 0.0].max
    end
  end
end
