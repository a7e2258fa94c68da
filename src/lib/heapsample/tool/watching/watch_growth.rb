# frozen_string_literal: true

module HeapSample
  module Tool
    # Which lines of a running process grow since the first profile, and how much they allocate since the one before.
    class WatchGrowth
      # An Array of WatchLook::Row; and bytes that all lines allocate in a second, nil before the second profile.
      attr_reader :rows, :allocated
      # Why there is no profile: a sentence, or nil.
      attr_reader :missing
      # The verdict so far: a sentence, or nil before the first profile.
      attr_reader :verdict

      def initialize(process, layout)
        @process = process
        @layout = layout
        @rows = []
      end

      # Takes another profile, after a major GC if the share of the run time allows it.
      def look
        profile = @process.profile(diagnose: ReportCommand::SHARE)
        @missing = nil
        @first ||= profile
        read(profile) if @last
        # The profile lists all major GCs, so the first one and this one are enough.
        @verdict = ProcessDiagnosisText.new(Series.new([@first, profile].uniq).diagnosis, @layout).sentence if profile.info.same_run?(@first.info)
        @last = profile
      rescue LiveProcess::Refused => e
        @missing = e.message
      end

      private

      def read(profile)
        seconds = (profile.info.taken - @last.info.taken).to_f
        return unless seconds.positive?

        allocated = allocations(profile, @last).transform_values { |bytes| bytes / seconds }
        @allocated = allocated.values.sum
        grown = (profile - @first).groups(:line).to_h { |group| [group.key, group.space] }
        @rows = (grown.keys | allocated.keys).map { |key| WatchLook::Row.new(@layout.place(key), grown.fetch(key, 0.0), allocated.fetch(key, 0.0)) }
      end

      # Bytes by line that were allocated between two profiles.
      def allocations(later, earlier)
        before = allocated_by_line(earlier)
        allocated_by_line(later).to_h { |key, bytes| [key, [bytes - before.fetch(key, 0.0), 0.0].max] }
      end

      def allocated_by_line(profile) = profile.groups(:line).to_h { |group| [group.key, group.alloc.space] }
    end
  end
end
