# frozen_string_literal: true

module HeapSample
  # Does a process leak, and where? Or do several that run the same code, together?
  #
  # Whether it grows is decided by exact counts (Counts); where it grows is estimated from samples (GrowingLines). The state
  # is one of STATES:
  #
  # [confirmed] a leak: growth is certain and even, and there are many times as many threads or fibers as at first,
  #             which no pool explains; or as many entries in the container that retains most of it, which nothing limits and
  #             from which nothing was removed, which no cache explains
  # [likely]    a leak: growth is certain and even; a cache that takes longer to fill looks the same
  # [grows]     growth is certain, but a guard of the Verdict fails, which #guard names
  # [ended]     it grew as a leak does, and not since, though work went on
  # [unknown]   there are too few points, or there was no major GC
  # [none]      no leak was found
  class ProcessDiagnosis
    include Analysis

    TEXT = ProcessDiagnosisText

    # The worst first.
    STATES = %i[confirmed likely grows ended unknown none].freeze
    # What the state of one count is called here, unless something confirms it.
    OF_COUNT = {leak: :likely, grows: :grows, ended: :ended}.freeze
    # One of several processes is named alone if it has such a part of all growth.
    ALONE = 0.9
    # What is no reason for too few major GCs: keys of ForcedWork::WHY.
    NO_REASON = %i[ended not_needed].freeze
    # Parts of the account that no object uses.
    FREE = %w[slots_free malloc_waste].freeze
    # Threads and fibers that are so many times as many as at first are no pool that fills; entries, no cache.
    MANY = 8

    # An Array of Series: one, or several processes that run the same code.
    attr_reader :members
    # The Counts that decide: of all members together, or of the worst member.
    attr_reader :counts
    # The members that these counts are of.
    attr_reader :judged

    # call-seq:
    #   ProcessDiagnosis.new(series) -> diagnosis
    #   ProcessDiagnosis.new([series, series]) -> diagnosis
    def initialize(members)
      @members = Array(members.is_a?(Series) ? [members] : members)
      each = @members.map { |series| [[series], Counts.of(series.infos)] }
      all = [@members, Counts.sum(each.map(&:last))] if each.size > 1
      worst = worst(each)
      @judged, @counts = all&.last && !alone?(worst.last, all.last) ? worst([all, worst]) : worst
    end

    # One of STATES.
    def state = @state ||= find_state
    # Is it a leak? The counts decide; no samples are read for that.
    def leak? = growing.first&.state == :leak
    # Is growth certain, leak or not?
    def grows? = leak? || growing.first&.state == :grows

    # The Counts::Counts of the state, the deciding one first: what leaks, what grows, or what grew.
    def growing
      @growing ||= OF_COUNT.keys.lazy.map { |name| counts.in_state(name) }.find(&:any?) || []
    end

    # The ones that are bytes.
    def growing_bytes = growing.select(&:bytes?)

    # The guard that failed where growth is certain but no leak: one of Verdict::GUARDS; nil if all hold, but not yet for long
    # enough, and of other states.
    def guard = state == :grows ? growing.first.verdict.guard : nil

    # What leaks or grows: :objects, :native, :threads, :fibers or :mapped; nil if nothing does.
    def kind
      return unless (first = growing.first)
      return first.kind if !first.bytes? || first.kind == :mapped

      findings.first&.kind || (first.kind == :malloc ? :native : :objects)
    end

    # The counts of bytes behind #grew and #rate: what grows, and of slots and malloc the other one too, if it is larger, as
    # objects have both.
    def grown_bytes
      kinds = growing_bytes.map(&:kind)
      counts.all.select { |count| kinds.include?(count.kind) || (%i[slots malloc].include?(count.kind) && kinds.intersect?(%i[slots malloc]) && count.verdict.grew.positive?) }
    end

    # Is it mapped memory alone? Of that there are no samples.
    def mapped? = grown_bytes.any? && grown_bytes.all? { |count| count.kind == :mapped }
    # Bytes by which the process grew in the judged time, exactly.
    def grew = grown_bytes.sum { |count| count.verdict.grew }
    # Seconds of the judged time.
    def seconds = growing.map { |count| count.verdict.seconds }.max || 0.0
    # Bytes an hour of work: [low, rate, high]; nil if no bytes grow now. Errors of several counts add.
    def rate = (grown_bytes.map { |count| count.verdict.rate.map { |bytes| bytes * 3600 } }.transpose.map(&:sum) if grows? && growing_bytes.any?)

    # The memory limit that is nearest: an Account::Limit; nil if it is not known.
    def limit = judged.filter_map { |series| series.infos.last.account&.limit }.min_by { |limit| limit.bytes - limit.used }

    # Seconds until the limit is reached at the rate at which RSS grows; nil if it is not known, or nothing grows.
    def seconds_to_limit
      return unless limit && grows?

      pace = judged.sum { |series| rss_rate(series) }
      [limit.bytes - limit.used, 0].max / pace if pace.positive?
    end

    # Bytes an hour: a steady leak of so much would have been found, 19 times in 20.
    def detectable = [:slots, :malloc].filter_map { |kind| counts[kind]&.verdict }.select(&:enough?).sum(&:detectable) * 3600

    # Seconds until more is known; nil if there are too few points.
    def seconds_to_know = (growing.first || counts.fewest)&.verdict&.then { |verdict| verdict.seconds_to_know if verdict.size > 2 }

    # Why there are too few major GCs: a sentence of ForcedWork, or nil.
    def no_majors
      last = info.forced&.last
      return if counts.size >= Verdict::ENOUGH || NO_REASON.include?(last) || (last == :none && counts.size.positive?)

      info.forced&.why
    end

    # Did a version write the profiles that did not list major GCs?
    def older? = counts.size.zero? && info.objects.nil?

    # What grows, by the samples: Array of Finding, the largest first.
    def findings = @findings ||= find
    # GrowingLines of the members that are judged.
    def lines = @lines ||= GrowingLines.new(judged, from: judged_from, few: unknown?)

    # The line where the additional threads or fibers were created: an Alive::Change; nil if it is not known.
    def created
      kind = growing.first&.kind
      return if kind.nil? || growing.first.bytes?

      first, last = judged.first.infos.select(&:alive).values_at(0, -1).map(&:alive)
      last.since(first).find { |change| change.kind == kind && change.difference.positive? }
    end

    # What RSS and its parts grew by from the first profile to the last: {"rss" => bytes, "slots_free" => bytes}; of all that are
    # judged, together, as far as it is known of all.
    def account_growth
      all = judged.map do |member|
        first, *, last = member.infos.filter_map(&:account)
        last ? {"rss" => (last.rss - first.rss if last.rss && first.rss), **last.since(first)}.compact : {}
      end
      all.map(&:keys).inject(:&).to_h { |name| [name, all.sum { |one| one[name] }] }
    end

    # The part of the account, other than live slots and live malloc memory, that is at least half of what RSS grew by, and its bytes; nil
    # if there is none, or RSS grew by less than 1 MiB.
    def unused_growth
      growth = account_growth
      part, most = growth.except("rss", "slots_live", "malloc_live").max_by(&:last)
      [part, most] if part && growth["rss"].to_i >= 1 << 20 && most >= growth["rss"] / 2
    end

    # The part of mapped memory that is most of its growth; nil if none is.
    def mapped_part = account_growth.slice(*Counts::MAPPED).then { |parts| parts.max_by(&:last)&.first.then { |name| name if name && 2 * parts[name] > parts.values.sum(&:abs) } }

    # The profile with the most live memory, if that is a peak: a PeakUsage; else nil, and where several processes are judged.
    def peak
      return if judged.size > 1

      least = [account_growth["rss"].to_i / 4, counts.rss / 50, 1 << 20].max
      @peak ||= PeakUsage.of(judged.first, least: least) { |info| info.account&.then { |account| account.in_use } }
    end

    # What GC costs the first member that is judged: a GCCost; nil if its profiles have no record of GCs.
    def gc_cost
      return @gc_cost if defined?(@gc_cost)

      record = GCRecord.of(info)
      @gc_cost = record && record.causes.any? ? GCCost.new(record, series.last) : nil
    end

    # HeapSample::Meta of the last profile of the first member that is judged.
    def info = series.infos.last
    # The first member that is judged.
    def series = judged.first
    # Resident memory of the members, in bytes; nil if it is not known.
    def rss = members.filter_map { |one| one.infos.last.account&.rss }.then { |all| all.sum if all.any? }
    # The title of the process.
    def title = info.title || (info.parent_id ? "child of #{info.parent_id}" : nil)

    # JSON-ready: numbers not rounded, intervals as [low, high]. With +stacks+, lines have their stacks.
    def to_h(stacks: true, text: self.text)
      {pids: pids(members), judged: pids(judged), title: title, host: info.host, deploy: info.deploy, profiles: members.sum(&:size), rss: rss,
       state: state, kind: kind, guard: guard, sentence: text.sentence, grew: (grew if growing.any?), seconds: seconds, bytes_per_hour: rate&.at(1),
       interval_per_hour: rate&.values_at(0, 2), seconds_to_limit: seconds_to_limit, created: created&.place&.text,
       detectable_per_hour: (detectable if state == :none), counts: counts.all.map { |count| count_to_h(count) },
       findings: findings.map { |finding| finding.to_h(stacks: stacks) { |bytes| lines.per_hour(bytes) if grows? } },
       evidence: text.evidence, next: text.advice, warnings: members.flat_map(&:warnings), window: window, unused: unused, gc: gc_cost&.to_h}
    end

    private

    # The time that is judged, in seconds of Unix time: [from, to]; nil if nothing grows.
    def window = growing.first&.verdict&.then { |verdict| [verdict.judged_from, verdict.judged_from + verdict.seconds] }

    # Where no leak is found, the free memory that RSS grew in: [title of the part, bytes]; nil if there is none.
    def unused = (unused_growth&.then { |part, bytes| [Account::PARTS.fetch(part), bytes] if FREE.include?(part) } if state == :none)

    def pids(series) = series.map { |one| one.infos.last.process_id }

    # The worst of [members, counts].
    def worst(all) = all.min_by.with_index { |(_, counts), index| [rank(counts), -growth(counts), index] }

    # Does one process grow, and the others not?
    def alone?(one, all) = rank(one) <= rank(all) && growth(one).positive? && growth(one) >= ALONE * growth(all)

    def rank(counts)
      OF_COUNT.keys.index { |name| counts.in_state(name).any? } || (level?(counts) ? 9 : 8)
    end

    def growth(counts) = counts.in_state(:leak, :grows, :ended).select(&:bytes?).sum { |count| count.verdict.grew }

    # Are there points enough of what is counted after major GCs, and no evidence?
    def level?(counts) = [:slots, :malloc].filter_map { |kind| counts[kind] }.then { |both| both.any? && both.all? { |count| count.verdict.enough? } }

    def unknown? = growing.empty? && !level?(counts)

    def find_state
      return unknown? ? :unknown : :none if growing.empty?

      state = OF_COUNT.fetch(growing.first.state)
      state == :likely && confirmed? ? :confirmed : state
    end

    def confirmed?
      threads = growing.reject(&:bytes?)
      return threads.any? { |count| count.points.last.size >= MANY * count.points.first.size } if threads.any?

      finding = findings.first
      !finding.nil? && finding.space * finding.share_held >= grew / 2 && finding.grows_without_limit?(MANY)
    end

    def judged_from
      first = growing.first || counts[:slots] || counts.all.first
      first && first.points.size > 2 ? Time.at(first.verdict.judged_from) : series.infos.first.taken
    end

    # Bytes a second by which RSS grew in the judged time; without several profiles what is counted.
    def rss_rate(series)
      known = series.infos.select { |info| info.account&.rss && info.taken >= judged_from }
      return (rate ? rate[1] / 3600 / judged.size : 0.0) if known.size < 3

      steps = known.each_cons(2).map { |one, other| (other.taken - one.taken).to_f }
      Curve.new(steps, known.map { |info| info.account.rss }).slopes(0)[1]
    end

    def find
      layout = Layout.new
      Finding.all(lines.lines) { |answer| layout.holder(answer) }
    end

    def count_to_h(count)
      verdict = count.verdict
      {kind: count.kind, state: verdict.state, guard: verdict.guard, points: verdict.size, first: verdict.points.first.size, last: verdict.points.last.size, grew: verdict.grew}
    end
  end
end
