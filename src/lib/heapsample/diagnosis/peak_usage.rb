# frozen_string_literal: true

module HeapSample
  # The profile of a series in which most was in use, and the line that had most of what a quiet one has not: who makes the
  # peaks that RSS stays at.
  class PeakUsage
    # Of what was in use more, the line has to have such a part.
    SHARE_LEAST = 0.25

    # call-seq:
    #   PeakUsage.of(series, least: 1 << 20) { |info| bytes } -> HeapSample::PeakUsage or nil
    #
    # The block says how much was in use when a profile was taken, by its Meta; nil: not known.  A peak is +least+ bytes above
    # the quietest profile.
    def self.of(series, least:, &size_of)
      sizes = series.infos.map(&size_of)
      known = sizes.each_index.select { |index| sizes[index] }
      low, high = known.minmax_by { |index| sizes[index] }
      return if high.nil? || sizes[high] - sizes[low] < least

      peak = new(series[high], series[low], sizes[high], sizes[high] - sizes[low])
      peak if peak.line
    end

    # HeapSample::Meta of the profile; bytes in use then; the Place, the application's where there is one.
    attr_reader :info, :bytes, :line
    # What the line had in use, garbage of which no GC had yet looked at it too: a HeapSample::Estimate.
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
