# frozen_string_literal: true

module HeapSample
  # Who keeps what grows, by a walk over the heap: of each finding the reference to name (NearestHolder), from the last
  # profile of the series that has a walk.  Where there is none, Keeper infers a container.
  class FindingHolders
    # The holder of a smaller part of what grew is not named.
    SHARE_LEAST = 1 / 3.0

    # Gives each of +findings+ its holder, if one is known.
    def self.add(findings, series, settled)
      profile = series.walked
      holders = new(profile, settled) if profile&.nearest_holder
      findings.each { |finding| finding.holder = holders&.of(finding) }
    end

    def initialize(profile, settled)
      @profile = profile
      @settled = settled
    end

    # A NearestHolder::Answer, or nil.
    def of(finding)
      answer = @profile.nearest_holder.of_rows(finding.groups.flat_map { |group| rows.fetch(group.key, []) })
      answer if answer && answer.share >= SHARE_LEAST
    end

    private

    # Rows of what was born in the judged time, by line.
    def rows
      @rows ||= begin
        lines = Keys.new(@profile, :line)
        @profile.table.select { |row| (birth = row[Columns::BIRTH_GC]) && @settled.clock.seconds(birth) >= @settled.from }.group_by { |row| lines.of(row) }
      end
    end
  end
end
