# frozen_string_literal: true

module HeapSample
  # The profile of a series with the most live memory, and the line that had most of the difference to a quiet profile. Peaks
  # explain an RSS that does not fall again.
  class PeakUsage
    # The line must have at least such a part of the difference.
    SHARE_LEAST = 0.25

    # call-seq:
    #   PeakUsage.of(series, least: 1 << 20) { |info| bytes } -> HeapSample::PeakUsage or nil
    #
    # The block returns how much memory was live when a profile was taken, by its Meta; nil: not known.  A peak is +least+ bytes above
    # the quietest profile.
    def self.of(series, least:, &size_of)
      sizes = series.infos.map(&size_of)
      known = sizes.each_index.select { |index| sizes[index] }
      low, high = known.minmax_by { |index| sizes[index] }
      return if high.nil? || sizes[high] - sizes[low] < least

      peak = new(series[high], series[low], sizes[high], sizes[high] - sizes[low])
      peak if peak.line
    end

    # HeapSample::Meta of the profile; live bytes then; the Place, in the application where there is one.
    attr_reader :info, :bytes, :line
    # Live memory of the line, with garbage that no GC had freed yet: a HeapSample::Estimate.
    attr_reader :estimate

    def initialize(profile, quiet, bytes, rise)
      @info = profile.info
      @bytes = bytes
      had = Groups.of(quiet, :app).to_h { |group| [group.key, memory(group).space] }
      had.default = 0.0
      group = Groups.of(profile, :app).select { |one| one.key.is_a?(Place) && !Keys::MACHINERY.include?(one.key.label) }
                    .max_by { |one| memory(one).space - had[one.key] }
      return unless group && memory(group).space - had[group.key] >= SHARE_LEAST * rise

      @line = group.key
      @estimate = memory(group)
    end

    private

    def memory(group) = Estimate.sum([group.inuse, group.young])
  end
end
