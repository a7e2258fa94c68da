# frozen_string_literal: true

module HeapSample
  # Who keeps what grows, by a walk over the heap: of each finding the reference to name (NearestHolder), from the last
  # profile of the series that has a walk.  Where there is none, Keeper infers a container.
  #
  # To a block of C code no reference of Ruby leads: only the C code knows where it is.  Such blocks say nothing of who keeps
  # them, so they are asked last:
  #
  # 1. the reference that keeps a third of it, at least;
  # 2. the one that keeps objects of the class in whose method C code asked for the blocks: what keeps the Zlib::Deflates
  #    keeps what zlib has for each of them;
  # 3. the one that keeps most of what is known to be kept, if that is objects enough to have the rest;
  # 4. nobody, as far as can be known.
  class FindingHolders
    # The holder of a smaller part of what grew is not named at once.
    SHARE_LEAST = 1 / 3.0
    # And of what is known to be kept it has to keep so much.
    KNOWN_LEAST = 1 / 2.0
    # One sample is chance, unless it is one large object.
    SAMPLES_LEAST = 2

    # Gives each of +findings+ its holder, if one is known.  Where it is not, a container that grows says more than that.
    def self.add(findings, series, survivors)
      profile = series.walked
      holders = new(profile, survivors) if profile&.nearest_holder
      findings.each do |finding|
        answer = holders&.of(finding)
        finding.holder = answer unless finding.keeper && answer && !answer.told?
        finding.unseen = holders&.unseen(finding)
      end
    end

    def initialize(profile, survivors)
      @profile = profile
      @nearest = profile.nearest_holder
      @clock = survivors.clock
      @judged, @end = survivors.from, survivors.moments.last.seconds
      @from = [survivors.from, ProcessDiagnosis::WARM_UP * (profile.info.taken - @clock.began).to_f].min # the walk may be an early one
    end

    # The part of it that came after the walk.
    def unseen(finding) = finding.whole.after((@profile.info.taken - @clock.began - @judged) / [@end - @judged, 1e-6].max)

    # A NearestHolder::Answer, or nil.
    def of(finding)
      rows = finding.groups.flat_map { |group| by_line.fetch(group.key, []) }
      most = @nearest.of_rows(rows)
      return unless most
      return (most if most.share >= SHARE_LEAST && (most.samples >= SAMPLES_LEAST || most.objects < SAMPLES_LEAST)) if most.told?

      of_owners(finding) || of_known(rows, finding) || (most if most.share >= SHARE_LEAST && most.samples >= SAMPLES_LEAST)
    end

    private

    # By the objects that the C code may have the blocks for.
    def of_owners(finding)
      owner = finding.receiver or return
      answer = enough(@nearest.of(by_class.fetch(owner, []), told: true), finding)
      answer.owner = owner if answer
      answer
    end

    def of_known(rows, finding)
      known = @nearest.of_rows(rows, told: true)
      enough(known, finding) if known && known.share_of_told >= KNOWN_LEAST
    end

    # May what is known to be kept bring the rest, and did somebody write who keeps it?
    def enough(answer, finding)
      answer if answer&.kept? && answer.edge.written? && answer.samples >= SAMPLES_LEAST && answer.objects * Keeper::OBJECTS_AN_ENTRY >= finding.objects
    end

    # Rows of what was born past the warm-up.
    def rows
      @rows ||= @profile.table.select { |row| (birth = row[Columns::BIRTH_GC]) && @clock.seconds(birth) >= @from }
    end

    def by_line = @by_line ||= Keys.new(@profile, :line).then { |lines| rows.group_by { |row| lines.of(row) } }

    # The ways to these, by the class of the object, or of that which has the block.
    def by_class = @by_class ||= @profile.holders.of(rows).group_by(&:class_name)
  end
end
