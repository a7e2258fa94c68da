# frozen_string_literal: true

module HeapSample
  # What of each line had survived at some moments of a series: memory that a major GC, or
  # some GCs where major ones are rare, left alive.  Young garbage is not in it, so growth of survivors is no heap that merely was
  # not collected yet.
  #
  # A moment is a major GC, and what was born before it is read from the last profile before the next one, by when
  # all that it found dead is swept.  Where majors are fewer than MAJORS_LEAST in the time that is judged, each
  # profile is a moment, and what has seen GCS GCs counts (#by_majors? is false then): old garbage is in it.  Where
  # GCs are that few, too, it is what is in use (#by_gcs? is false).
  class Survivors
    MAJORS_LEAST = 4
    GCS = 4
    # Profiles that are read: as many moments, evenly spread.
    MOMENTS_MOST = 40

    # Index of the profile that tells, seconds since the session began, and the GC count before which it was born.
    Moment = Struct.new(:index, :seconds, :gc)

    attr_reader :moments, :clock, :from
    # Hash of a line's Place => SurvivorGroup.
    attr_reader :groups
    # The last profile.
    attr_reader :profile

    # +from+: seconds since the session began from which on growth is judged.
    def initialize(series, clock, from:)
      @series = series
      @clock = clock
      @from = from
      @moments = choose
      read
    end

    def by_majors? = @how == :majors
    def by_gcs? = @how != :none

    # Moments in the judged time.
    def judged = moments.count { |moment| moment.seconds >= from }

    # Seconds from the first judged moment to the last.
    def seconds = moments.last.seconds - [from, moments.first.seconds].max

    # Is there enough to tell growth in each part of a Course?
    def enough? = moments.size > Course::PARTS && moments.last.seconds > from

    def total
      @total ||= SurvivorGroup.sum(groups.values, moments.size)
    end

    # Containers that grow.
    def containers = @containers.growing(judged_moments, @profile)

    # The Course of a group, or of all; +from+: another time than that from which growth is judged.
    def course(group = total, from: self.from)
      Course.new(moments.map(&:seconds), group.spaces, from: [from, moments.first.seconds].max, unit: group.unit, turnover: group.turnover)
    end

    # Bytes of the lines of which there is less and less: what came elsewhere has taken the place of so much.
    def gone = @gone ||= judged_moments.then { |from| groups.each_value.sum { |group| group.decline(from) } }

    # How much the program worked in the second half of the judged time, by what it used up, as a part of the first half's.
    def work
      first, middle, last = [from, (from + moments.last.seconds) / 2, moments.last.seconds].map { |seconds| used_up_at(seconds) }
      middle > first ? (last - middle) / (middle - first).to_f : 1.0
    end

    # Yields each row of the last profile that was born in the judged time and survives at its end, and its GC count.
    def born_lately
      Births.rows(@profile).each do |row|
        birth = row[Columns::BIRTH_GC]
        yield row, birth if birth && birth <= moments.last.gc && clock.seconds(birth) >= from
      end
    end

    private

    def infos = @series.infos
    # The index of the first moment that is judged.
    def judged_moments = moments.index { |moment| moment.seconds >= from } || 0

    # Objects that were used up to a time.
    def used_up_at(seconds)
      @used_up ||= moments.map { |moment| [seconds_of(moment.index), births(moment).used_up] }.uniq
      after = @used_up.bsearch_index { |known, _| known >= seconds } || @used_up.size - 1
      (from, least), (to, most) = @used_up.values_at([after - 1, 0].max, after)
      to > from ? least + (most - least) * [(seconds - from) / (to - from), 0.0].max : most
    end

    def choose
      majors = thin(last_of_each_major)
      judged = majors.count { |moment| moment.seconds >= from }
      @how = :majors
      return majors if judged >= MAJORS_LEAST

      aged = thin(aged_profiles)
      @how = :gcs
      return aged if aged.count { |moment| moment.seconds >= from } > Course::PARTS

      @how = :none
      thin(infos.each_index.map { |index| Moment.new(index, seconds_of(index), infos[index].gc_count.to_i + 1) })
    end

    def seconds_of(index) = (infos[index].taken - clock.began).to_f

    def last_of_each_major
      known = infos.each_index.select { |index| infos[index].last_major }
      known.chunk_while { |one, other| infos[one].last_major == infos[other].last_major }.filter_map do |same|
        seconds = (infos[same.last].last_major - clock.began).to_f
        Moment.new(same.last, seconds, infos[same.last].last_major_gc&.pred || clock.count(seconds)) if seconds > 0
      end
    end

    def aged_profiles
      infos.each_index.filter_map do |index|
        gc = infos[index].gc_count.to_i - GCS
        Moment.new(index, clock.seconds(gc), gc) if gc > 0
      end.uniq(&:gc)
    end

    def thin(moments)
      return moments if moments.size <= MOMENTS_MOST

      Array.new(MOMENTS_MOST) { |number| moments[number * (moments.size - 1) / (MOMENTS_MOST - 1)] }.uniq
    end

    def read
      @groups = {}
      births = moments.map { |moment| births(moment) }
      births.each_with_index { |one, number| add(number, one.groups) }
      @containers = Containers.new(births.map(&:blocks))
      @profile = @series[moments.last.index]
      describe
    end

    def births(moment) = @series.births(moment.index)

    # From when to when, as shares of the judged time: with a GC count objects are born up to the next GC.
    def born(birth)
      @born ||= {}
      @born[birth] ||= [birth, birth + 1].map { |gc| (clock.seconds(gc) - from) / [moments.last.seconds - from, 1e-6].max }
    end

    def add(number, groups)
      gc, before = moments[number].gc, (moments[number - 1].gc if number > 0)
      groups.each do |key, births|
        births.each do |birth, sum|
          (@groups[key] ||= SurvivorGroup.new(key, moments.size)).add(number, sum, old: before && birth <= before) if birth <= gc
        end
      end
    end

    # Says of each group what of it was born in the judged time and is there at its end.
    def describe
      keys = Keys.new(@profile, :line)
      born_lately { |row, birth| @groups.fetch(keys.of(row)).describe(row, @profile, born(birth)) }
    end
  end
end
