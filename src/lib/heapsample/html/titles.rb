# frozen_string_literal: true

module HeapSample
  # What the page is called while it shows a profile, and while it shows one of its growths: which process, and when.
  #
  #   Heap profile of process 4711, 2026-01-01 00:10:00 UTC
  #   Heap growth of process 4711, 2026-01-01 00:05:00 → 00:10:00 UTC
  #   Heap growth, process 4711 at 2026-01-01 00:05:00 → process 4712 at 2026-01-01 00:10:00 UTC
  class ViewTitles
    # +title+: one that is used for everything, or nil.
    def initialize(profile, growths, title)
      @title = title
      @subject = growths.first || profile
    end

    # The title of what the page opens with.
    def first = of(@subject)

    # The title of a Profile or a Growth.
    def of(subject)
      @title || (subject.is_a?(Growth) ? of_growth(subject.earlier.info, subject.later.info) : of_profile(subject.info))
    end

    # "process 4711 at 2026-01-01 00:05:00 UTC", without what the profile does not have.
    def moment(profile)
      "#{place(profile.info)}#{" UTC" if profile.info.taken}"
    end

    private

    DAY = "%Y-%m-%d"
    CLOCK = "%H:%M:%S"
    private_constant :DAY, :CLOCK

    def of_profile(info)
      ["Heap #{info.dump? ? "dump" : "profile"}#{process(info)}", *("#{stamp(info.taken)} UTC" if info.taken)].join(", ")
    end

    def of_growth(earlier, later)
      unless earlier.process_id == later.process_id
        from, to = [earlier, later].map { |info| "#{"deploy #{info.deploy}, " unless earlier.deploy == later.deploy || info.deploy.nil?}#{place(info)}" }
        return "Heap growth, #{from} → #{to}#{" UTC" if later.taken}"
      end

      ["Heap growth#{process(later)}", *(span(earlier.taken, later.taken) if earlier.taken && later.taken)].join(", ")
    end

    def process(info) = (" of process #{info.process_id}" if info.process_id)

    def place(info)
      [info.process_id ? "process #{info.process_id}" : info.dump? ? "a dump" : "a process", *(stamp(info.taken) if info.taken)].join(" at ")
    end

    # "2026-01-01 00:05:00 → 00:10:00 UTC": the day once, if it is one day.
    def span(from, to)
      same_day = from.getutc.strftime(DAY) == to.getutc.strftime(DAY)
      "#{stamp(from)} → #{same_day ? to.getutc.strftime(CLOCK) : stamp(to)} UTC"
    end

    def stamp(time) = time.getutc.strftime("#{DAY} #{CLOCK}")
  end
end
