# frozen_string_literal: true

module HeapSample
  # What one process does with its memory, by a series of its profiles: does it leak, and where, or does it grow for
  # another reason, or not at all?
  #
  # Three sizes are followed over the time past the warm-up, each as a Course:
  #
  # - the resident memory (RSS), which is what people see;
  # - what is in use: live slots, live malloc and stacks, from the account, which is exact, but has garbage in it
  #   that no GC has looked at yet;
  # - survivors: what major GCs left alive (Survivors), of each line, which is an estimate and has no garbage in it.
  #
  # The verdict is a grade, which says how certain a leak is, and a kind, which says what grows.  It is a leak if survivors of
  # lines grow in each part of the time.  Where RSS and what is in use grow so, and too few major GCs have run to know the
  # survivors, the grade is :unknown.  Else there is no leak, and the kind is :bloat (RSS rose and did not fall), :fragmentation
  # (most of what rose is free memory), or :steady.
  class ProcessDiagnosis
    include Analysis

    TEXT = ProcessDiagnosisText

    # Of the time since sampling started, the part that is warm-up.
    WARM_UP = 0.2
    # Growth that is worth a word: a share of RSS, and bytes.
    SHARE = 0.02
    FLOOR = 1 << 20
    # The same of a line with many samples.
    FLOOR_CLEAR = 1 << 19
    PROFILES_LEAST = 6
    # Profiles from which on a leak may be likely: in fewer a queue that is long for a while grows all along too.
    PROFILES_TO_NAME = 8
    # Of what RSS grew by, the part from which lines may explain it: less says nothing of the rest.
    SHARE_OF_RSS = 0.05
    # Of all that came to stay, the part that is enough of lines with many samples.
    SHARE_CLEAR = 0.1
    # Growth in each of the last two parts of the time, as a share of all, of what grows lately.
    LATELY_LEAST = 0.25
    # Growth of RSS, in least ones, that tells no leak from what fills ever more slowly.
    LITTLE = 4
    # Growth of RSS, as a share of it, that is much; and what of such growth comes and goes where peaks made it.
    MUCH = 0.25
    PEAK_LEAST = 0.25
    # Samples and major GCs of survivors that confirm the growth of RSS.
    SAMPLES_TO_SUPPORT = 4
    MAJORS_TO_SUPPORT = 10
    # Samples that a line is expected to have so that it has enough to be clear, 19 times in 20 (Poisson's distribution).
    SAMPLES_TO_SEE = 33
    # Major GCs past the warm-up from which a leak is confirmed.
    MAJORS_TO_CONFIRM = 12

    # What grows: Ruby objects and what they hold, threads or fibers, memory of C code; or RSS without a leak, or nothing.
    KINDS = %i[leak threads native bloat fragmentation steady].freeze
    # How certain a leak is, the most certain first.
    GRADES = %i[confirmed likely unknown none].freeze
    # Grades of which a leak is named.
    LEAK_GRADES = GRADES.first(2).freeze
    # Kinds of leaks, the one that says most first.
    LEAKS = %i[threads native leak].freeze
    # Each number of profiles up to EACH, and then ever fewer numbers, are looked at again for a leak that was named.
    EACH = 64
    FEWER = 1.15
    EARLIER_MOST = 64
    # Of what RSS or what is in use has to grow by for the leak of a line to be named, the part that keeps it so.
    HELD = 0.5
    # The kind and the grade of too few profiles.
    UNJUDGED = [nil, :unknown].freeze
    # How many lines are named that hold free memory.
    HOLDERS = 3
    private_constant :UNJUDGED, :HELD, :EACH, :FEWER, :EARLIER_MOST, :LITTLE, :SHARE_OF_RSS

    attr_reader :series
    # Courses of RSS, of what is in use, of stacks of threads and fibers, and of free memory that is resident.
    attr_reader :rss, :in_use, :stacks, :free

    # Survivors of each line.
    def survivors = @survivors ||= Survivors.new(series, @clock, from: from)

    # Threads or fibers that pile up: a Crowd, or nil.
    attr_reader :crowd

    # call-seq:
    #   ProcessDiagnosis.new(series, warmup: nil)
    #
    # +warmup+: seconds since sampling started that are not judged; WARM_UP of that time unless given.  Raises ArgumentError
    # if it is none.
    def initialize(series, warmup: nil)
      unless warmup.nil? || (warmup.is_a?(Numeric) && warmup >= 0)
        raise ArgumentError, "warmup must be a number of seconds, not #{warmup.inspect}"
      end

      @series = series
      @warmup = warmup
      accounts = series.infos.select { |info| info.account&.rss }
      @accounts = accounts.size >= [PROFILES_LEAST, series.size].min
      @known = @accounts ? accounts : series.infos
      measure if @known.size >= PROFILES_LEAST
    end

    # Are there profiles enough to say something?
    def enough? = @known.size >= PROFILES_LEAST && (accounts? || survivors.enough?)

    # Do the profiles say how large the process was?  Where they do not, survivors stand for that.
    def accounts? = @accounts

    # What grows: one of KINDS; nil where there are too few profiles.
    def kind = judgement.first
    # How certain a leak is, one of GRADES:
    #
    # - :confirmed: a leak, and RSS, live memory and the survivors of major GCs all grow steadily, by enough of each;
    # - :likely: a leak, by the same figures but fewer of them;
    # - :unknown: too few profiles, or memory grows and too few major GCs or samples say whether it is retained;
    # - :none: no leak was found.
    def grade = judgement.last
    # Is there a leak: is the grade :confirmed or :likely?
    def leak? = LEAK_GRADES.include?(grade)
    # Can nobody tell yet whether there is a leak?
    def unknown? = grade == :unknown

    # The verdict as every report has it: its kind, its grade, and the sentence for people.
    def verdict = {kind: kind, grade: grade, sentence: text.sentence}

    # What grows, the most certain and largest first: Array of Finding.
    def findings = @findings ||= enough? && survivors.enough? ? FindingHolders.add(Findings.of(survivors), series, survivors) : []

    # The Course of memory that is neither Ruby's nor malloc's.
    attr_reader :mapped

    # Does memory grow that is neither Ruby's nor malloc's?  C code maps it by itself (mmap), or an IO::Buffer.
    def mapped?
      goes_on? && @mapped.steady? && @mapped.grew >= [least, rss.grew / 2].max && @mapped.grew >= 2 * findings.select(&:leaks?).sum(&:grew)
    end

    # Are they threads that have ended, whose Thread objects something keeps?  These have their stacks still.
    def ended_threads? = kind == :threads && crowd.nil? && counts_alive? && Alive::KINDS.each_key.none? { |one| alive(one).grew >= Crowd::LEAST }

    # Of what RSS grew by, a part that is no data of lines: its AccountGrowth::Part; nil if there is no such part of a third.
    def beside_lines
      AccountGrowth::NAMES.map { |field, (source, name)| AccountGrowth::Part.new(source, name, exact { |account| account[field].to_i }.grew) }
                    .max_by(&:bytes).then { |most| most if most.bytes >= [rss.grew / 3, least].max }
    end

    # Bytes of RSS when its last profile was taken.
    def rss_now = accounts? ? @known.last&.account&.rss : (survivors.total.spaces.last if enough?)
    # Bytes of RSS when its first profile was taken.
    def rss_at_first = accounts? ? @known.first&.account&.rss : (survivors.total.spaces.first if enough?)

    # Bytes from which growth is worth a word.
    def least = [SHARE * rss_now, FLOOR].max

    # Seconds that are judged.
    def seconds = enough? ? seconds_of(@known.last) - [from, seconds_of(@known.first)].max : 0.0

    # From when on they are judged, seconds since the session began.
    attr_reader :from

    # Bytes an hour of what grew in the judged time.
    def per_hour(bytes) = bytes * 3600.0 / [survivors.seconds, 1e-3].max

    # Bytes an hour: a steady leak of that much on one line would have been found 19 times in 20.
    def detectable = per_hour([SAMPLES_TO_SEE * (series.infos.last.interval || 1), FLOOR_CLEAR].max)

    # Did it grow, because what is in use did, and is that over?
    def levelled_off? = rss.grew >= 2 * least && in_use.grew >= rss.grew / 2 && !lately?

    # Does it grow, and did not at first?  A leak that began does so, and so does a long job.
    def lately?
      enough? && rss.grew >= 2 * least && [rss, in_use].all? { |course| course.parts.last(2).min >= LATELY_LEAST * course.grew && course.parts.first(2).max < course.parts.last(2).min }
    end

    # Is most of what came to stay code that was loaded?  Findings leave it out.
    def loads_code? = survivors.enough? && survivors.course.grew >= least && findings.sum(&:grew) < survivors.course.grew / 2

    # When most was in use, and whose that was: a Peak; nil where none stands out.
    def peak = @peak ||= Peak.of(series, least: [least, rss.grew / 4].max) { |info| info.account&.then { |account| in_use_of(account) } }

    # The lines that hold most free memory of heap pages in the last profile: a Top.  nil if that is not worth a word.
    def holders
      top = series.last.top(value: :holds_free, top: HOLDERS)
      top if top.total.space >= least
    end

    # HeapSample::Meta of the last profile.
    def info = series.infos.last
    # What the process is called.
    def role = info.title || (info.parent_id ? "child of #{info.parent_id}" : nil)

    # JSON-ready: numbers not rounded, intervals as [low, high].  With +stacks+, findings have their stacks.
    # +text+ has its sentences.
    def to_h(stacks: true, text: self.text)
      {pid: info.process_id, role: role, host: info.host, deploy: info.deploy, profiles: series.size, seconds: seconds, rss: rss_now, growth: (rss.grew if enough?),
       verdict: {kind: kind, grade: grade, sentence: text.sentence}, findings: shown_findings.map.with_index { |finding, index| figures_of(finding, index.zero?, stacks) },
       crowd: crowd&.to_h,
       evidence: text.evidence, next: text.advice, warnings: series.warnings}
    end

    # Those that belong to the verdict.  Where it is one of before that goes on, what was named then is first.
    def shown_findings
      return [] if !LEAKS.include?(kind) || mapped?
      return findings unless @held

      named = named_by(@held)
      named ? [named, *(findings - [named])] : findings.select(&:leaks?)
    end

    # Without what earlier profiles said.
    def raw_judgement = enough? ? judge : UNJUDGED # :nodoc:
    protected :raw_judgement

    private

    def measure
      @clock = GcClock.new(series.infos)
      @from = @warmup || (seconds_of(@known.last) * WARM_UP)
      @rss, @in_use = accounts? ? [exact(&:rss), exact { |account| in_use_of(account) }] : [survivors.course, survivors.course]
      @stacks = exact { |account| account["stacks"].to_i }
      @mapped = exact { |account| account["unattributed"].to_i }
      @crowd = Crowd.of(@known) { |kind| alive(kind) } if accounts?
      @free = exact { |account| %w[slots_free malloc_waste].sum { |name| account[name].to_i } }
    end

    # The Course of how many :threads or :fibers there are.
    def alive(kind) = exact { |account| account[kind.to_s].to_i }
    def counts_alive? = accounts? && @known.all?(&:alive)

    def in_use_of(account) = %w[slots_live malloc_live stacks unattributed].sum { |name| account[name].to_i }

    # What the last moment has may be about to be freed: the less of the last two counts, at the last but one.
    def exact
      sizes = @known.map { |info| info.account ? yield(info.account) : 0 }
      Course.new(@known.map { |info| seconds_of(info) }[0..-2], [*sizes[0..-3], sizes.last(2).min], from: @from)
    end

    def seconds_of(info) = (info.taken - @clock.began).to_f

    def judgement = @judgement ||= enough? ? hold(judge) : UNJUDGED

    # A leak that fewer profiles showed stays one while the line goes on of which they were: more evidence, noisy as it is, makes
    # no verdict weaker.  Only growth that ends does.
    def hold(raw)
      return raw if raw.last == :confirmed || (!LEAKS.include?(raw.first) && over?)

      held = earlier.select { |one| LEAK_GRADES.include?(one.raw_judgement.last) && still?(one) }
      return raw if held.empty?

      @held = held.last unless LEAK_GRADES.include?(raw.last)
      named = held.map { |one| one.raw_judgement }
      named << raw if LEAKS.include?(raw.first)
      [named.map(&:first).max_by { |kind| LEAKS.reverse.index(kind) }, named.map(&:last).min_by { |grade| GRADES.index(grade) }]
    end

    # ProcessDiagnosis of the series when it had fewer profiles.
    def earlier
      counts = (PROFILES_LEAST..EACH).to_a
      counts << (counts.last * FEWER).ceil while counts.last < series.size
      counts.select { |count| count < series.size }.last(EARLIER_MOST).map { |count| ProcessDiagnosis.new(series.upto(count), warmup: @warmup) }
    end

    # Did RSS grow much, by what is in use for a while and then freed?  What there was at the end may be such, too.
    def comes_and_goes?
      accounts? && rss.grew >= MUCH * rss_now && fell >= rss.grew * PEAK_LEAST && free.grew < rss.grew / 2 &&
        survivors.by_majors? && (at_once? || fell >= rss.grew / 2 || survivors.course.grew < rss.grew * PEAK_LEAST)
    end

    # The most bytes by which what is in use fell, from a moment to any later one.
    def fell
      most = 0
      @known.map { |info| in_use_of(info.account) }.map { |size| (most = [most, size].max) - size }.max
    end

    # Does what an earlier diagnosis named go on?
    def still?(earlier)
      return true if earlier.crowd || earlier.findings.empty?
      return goes_on? if earlier.mapped?

      now = named_by(earlier)
      now ? !now.passes? && !now.late? && now.even?(Finding::EVENNESS_TO_GO_ON) && (goes_on? || seen_to_go_on?(now)) : goes_on?
    end

    # Few samples show no end; then RSS and what is in use have to show that it goes on.
    def seen_to_go_on?(finding)
      finding.many_samples? && !finding.ends?(survivors.work) && !finding.fills?(survivors.work) && !stopped?(finding, HELD)
    end

    # What an earlier diagnosis named, as it is now; nil if it is not there any more.
    def named_by(earlier) = earlier.findings.first&.then { |named| findings.find { |finding| finding.same_line?(named) } }

    # Has what grew ended, though there is as much to do as before?
    def over? = [rss, in_use].all? { |course| course.grew < least / 2 || course.slowing?(survivors.work) }

    def judge
      return [:threads, counted_grade] if crowd
      return [:native, to_name? ? counted_grade : :unknown] if mapped?

      leading = findings.first
      return [kind_of(leading), grade_of(leading)] if leading&.leaks? && explains?(leading)
      return [leading ? kind_of(leading) : :leak, supported? ? :likely : :unknown] if goes_on? && !at_once? && !loads_code? && !filling?
      return [:bloat, :none] if comes_and_goes? && peak
      return [leading ? kind_of(leading) : :leak, :unknown] if lately? && !loads_code? && findings.any? { |finding| finding.late? && !finding.passes? && finding.grew >= in_use.grew / 4 }
      return [:steady, :none] if rss.grew < 2 * least || levelled_off? || loads_code?

      [free.grew >= rss.grew / 2 ? :fragmentation : :bloat, :none]
    end

    # Of what is counted and not estimated.
    def counted_grade = @known.size >= MAJORS_TO_CONFIRM ? :confirmed : :likely

    # Is it code that comes still?  What a program loads when it is first needed makes most of what came, and is over soon.
    def still_loads? = loads_code? && findings.sum { |finding| lately_of(finding.course) } < lately_of(survivors.course) / 2

    # What came in the second half of the time.
    def lately_of(course) = course.parts.last(Course::PARTS / 2).sum

    # Do RSS and what is in use grow all along?  Pages that are touched for the first time are no growth of what is in use.
    def goes_on? = rss.steady? && in_use.steady? && rss.grew >= least && in_use.grew >= least / 2

    # Is what grows one that fills, and so little that RSS hardly shows it?
    def filling? = findings.first&.fills? && findings.first.grew >= in_use.grew / 2 && rss.grew < LITTLE * least

    # Do the lines that grow all along make enough of what grows?
    def explains?(leading)
      steady = findings.select(&:steady?).sum(&:grew)
      grew = survivors.course.grew
      clear = leading.clear? && !still_loads? && steady >= grew * SHARE_CLEAR
      steady >= [clear ? [least, FLOOR_CLEAR].min : least, SHARE_OF_RSS * rss.grew].max && (clear || steady >= grew / 3 || leading.grew >= grew / 4) && !replaced?(steady)
    end

    # Does as much die elsewhere as comes there?  Then objects of one line take the place of those of another, or of what
    # was there before sampling started, which only the account knows.
    def replaced?(steady)
      !goes_on? && (survivors.gone > steady / 2 || [rss.grew, in_use.grew].max < steady / 4)
    end

    def to_name? = @known.size >= PROFILES_TO_NAME

    # Where RSS and what is in use, which are exact, grow in every part of the time, a few samples that do so as well are enough.
    def supported?
      bearing = findings.reject { |finding| finding.passes? || finding.steps? || finding.late? }
      to_name? && grows_in_every_part? && survivors.by_majors? && survivors.judged >= MAJORS_TO_SUPPORT && survivors.course.steady? && !findings.first&.passes? &&
        bearing.sum(&:samples) >= SAMPLES_TO_SUPPORT && bearing.sum(&:grew) >= in_use.grew / 3
    end

    def grows_in_every_part? = rss.grew >= 2 * least && [rss, in_use].all? { |course| course.parts.min.positive? }

    # Did the survivors come at once, so that what grows is what comes and goes?
    def at_once? = survivors.by_majors? && survivors.total.born > least && survivors.total.lump > Finding::LUMP_MOST

    # Threads and fibers are their stacks first, and what these hold second.
    def kind_of(finding)
      stacks.steady? && stacks.grew >= [FLOOR / 2, rss.grew / 20].max ? :threads : finding.kind
    end

    def grade_of(leading)
      return :unknown unless to_name? && survivors.by_majors? && (goes_on? || (leading.samples >= 2 * Finding::SAMPLES_LEAST && !stopped?(leading)))

      goes_on? && survivors.judged >= MAJORS_TO_CONFIRM && leading.many_samples? ? :confirmed : :likely
    end

    # Did RSS and what is in use stop, where the line goes on?  Then something dies in its place.  RSS may grow for other reasons.
    # +share+: of what would be enough.
    def stopped?(finding, share = 1.0)
      enough = lately_of(finding.course) * share
      lately_of(in_use) < enough / 4 && lately_of(rss) < enough / 2
    end

    # The finding that the verdict names (+named+) has the grade of the verdict, which fewer profiles may have shown.
    def figures_of(finding, named, stacks)
      {kind: finding.kind, grade: named || finding.steady? ? grade : :unknown, line: finding.line&.text, app_line: finding.app_line&.text,
       class: finding.class_name, bytes: finding.grew, bytes_per_hour: per_hour(finding.grew),
       interval_per_hour: finding.interval.map { |bytes| per_hour(bytes) }, objects: finding.objects, samples: finding.samples,
       parts: finding.course.parts, lines: finding.groups.map { |group| {line: group.key&.text, bytes: survivors.course(group).grew} },
       keeper: finding.keeper&.then { |keeper| {line: keeper.line&.text, app_line: keeper.app_line&.text, what: keeper.what, sure: Keeper.sure?(finding), bytes: keeper.bytes, sizes: keeper.sizes} },
       holder: finding.holder&.to_h, came_after_walk: finding.unseen, stack: (finding.stack.map(&:to_s) if stacks)}
    end
  end
end
