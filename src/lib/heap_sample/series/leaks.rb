# frozen_string_literal: true

module HeapSample
  # Which rows of a series grow all along, and are not collected?
  #
  # A leak is growth that goes on: from the end of the warm-up to the end of the
  # series, at a pace that does not fall off, in objects that major GCs leave alive.
  # What is compared is therefore not what is in use, most of which comes and goes,
  # but what is settled (Cohorts): a sawtooth that GC collects, a request's objects
  # and what is younger than two major GCs are in no figure.  Totals of one process
  # share most of their samples, so that a line through them as if they were
  # independent would find trends in anything; net births and deaths in each block of
  # time are of different objects, and are.
  #
  # A row is called a leak if
  #
  # - it grew, and steadily: the t of its growth by how uneven it was (Trend).  A
  #   step has t = 1 whatever its size; a queue that goes up and down less;
  # - it grew in the last third too, by more than sampling explains;
  # - there no slower than at 0.6 of the rate before it, by time or by GCs: a cache
  #   that fills and levels off is slowing, not leaking.
  #
  # Where a heap is so steady that major GCs are too few to settle anything, what
  # minor ones left is judged likewise: nothing found is nothing found; but what is found
  # may be garbage that waits for a major GC, and is called unsettled, no leak.
  #
  # For each of the first two there are odds that a row without growth would look
  # so; the larger of both are the row's.  As many rows are judged at once,
  # Benjamini and Hochberg's procedure (1995, JRSS B 57:289-300) holds the odds
  # against: of what is called a leak, at most LEVEL is none on average, and where
  # there is none, none is named but in LEVEL of all series.  Rows with few samples that
  # came or went cannot be told from noise and are not judged, nor counted as tests:
  # how many came and went says nothing of which prevailed.
  #
  # A row of slots and of malloc is judged by both together and by each alone, and
  # its odds are three times the smallest: a few large blocks, or, in files of format 2,
  # what a line mallocs and frees again, would hide the objects it keeps.
  #
  # test/fast/lib/test_leaks.rb simulates both errors; doc/estimates.md has the figures.
  class Leaks
    # A share of the rows named that is wrong, on average.
    LEVEL = 0.01
    # Samples that came or went below which a row is not judged.
    SAMPLES_LEAST = 10
    TOP = Top::ROWS

    TEXT = LeaksText

    # A row: its key (a Place, a name, or frames), Cohort and Trend, which is of +kind+:
    # :both, :slots or :malloc; +verdict+ is :leak, :unsettled (it grew like one, and no
    # major GC has looked at it), :slowing, :unsteady (it grew, but not all along) or
    # :none; +odds+ that there is no growth.
    Candidate = Struct.new(:key, :cohort, :trend, :kind, :verdict, :odds) do
      # Bytes an hour, and the 95% interval.
      def slope = trend.slope
      # The 95% interval of #slope.
      def slope_interval = trend.slope_interval
      # Bytes that came less those that went.
      def space = trend.whole.space
      # Samples behind it, and whether they are too few to rely on.
      def samples = trend.whole.samples
      def weak? = trend.whole.weak?

      def inspect
        "#<#{self.class} #{verdict} #{Layout.new.place(key.is_a?(Array) ? nil : key)} #{Layout.new.bytes(slope, sign: true)}/h>"
      end
    end

    # Its name in earlier versions.
    Row = Candidate

    attr_reader :series, :by, :kind, :top
    # Rows that leak, the steepest first: Array of Leaks::Candidate.
    attr_reader :leaks
    # Rows that grew otherwise, the largest growth first.
    attr_reader :others
    # How many rows were judged, and how many had too few samples for it.
    attr_reader :judged, :unjudged
    # Why nothing can be said, a String; nil if something can.
    attr_reader :reason
    # Cohorts that were judged.
    attr_reader :cohorts

    include Analysis
    include Enumerable

    # call-seq:
    #   Leaks.new(series, by: :line, kind: :both, top: 20, width: 120, root: Dir.pwd, style: nil, warmup: nil)
    #
    # +by+: :line, :method, :file, :class, … (Groups::BY), or :stack; +kind+: :slots,
    # :malloc or :both; +warmup+: seconds since sampling started that are not judged, a
    # fifth of that time unless given.  Raises ArgumentError if one of them makes no sense.
    def initialize(series, by: :line, kind: :both, warmup: nil, top: TOP, **look)
      by = Groups.by(by, [:stack])
      unless warmup.nil? || (warmup.is_a?(Numeric) && warmup >= 0)
        raise ArgumentError, "warmup is a number of seconds, not #{warmup.inspect}"
      end

      Layout.check(top: top)
      look_like(look)
      @series = series
      @by = by
      @kind = kind
      @top = top
      @cohorts = Cohorts.new(series, by: by, kind: kind, warmup: warmup)
      @reason = @cohorts.reason
      @leaks, @others = [], []
      @judged = @unjudged = 0
      judge unless @reason
    end

    # What the process as a whole does, which this is a part of; nil of a part of the rows.
    def diagnosis = (@diagnosis ||= series.diagnosis unless series.filtered)

    # Threads or fibers of which there are ever more: a Crowd; nil of a part of the rows.
    def crowd = diagnosis&.crowd

    # Is there no leak?
    def empty? = leaks.empty?
    def each(&block) = leaks.each(&block)

    # The Trend of everything together; nil if nothing can be said.
    def total = (@total ||= cohorts.trend(cohorts.total) unless reason)

    # call-seq:
    #   detectable -> Float or nil
    #
    # Bytes an hour: a steady leak of that much on one row would have been named 19 times
    # in 20; nil if nothing can be said.
    def detectable
      return if reason

      samples = [Trend.samples_to_see(LEVEL / [judged, 1].max, cohorts.size), SAMPLES_LEAST].max
      samples * (series.infos[cohorts.moments.last.observer].interval || 1) / cohorts.hours
    end

    # JSON-ready: numbers not rounded, intervals as [low, high].
    def to_h
      figures = {process_id: series.infos.first.process_id, profiles: series.size, by: by, kind: kind,
                 filter: series.filtered&.names, warnings: series.warnings + cohorts.notes, reason: reason}
      figures[:crowd] = crowd&.to_h
      return figures.merge(leaks: [], others: []) if reason

      figures.merge(
        from: time(cohorts.moments.first), to: time(cohorts.moments.last), hours: cohorts.hours,
        blocks: cohorts.size, rows_judged: judged, rows_of_too_few_samples: unjudged,
        level: LEVEL, detectable_bytes_per_hour: detectable,
        total: rate(total), died_from_before_start_bytes: cohorts.died_before, leaks: self.leaks.map { |row| figures_of(row) },
        others: self.others.map { |row| figures_of(row) }
      )
    end

    # What a text shows of a key: of a stack its line.
    def self.place(key) # :nodoc:
      return key unless key.is_a?(Array)

      frame = key.find { |candidate| !candidate.native? && !candidate.path.start_with?("<internal:") } || key.first
      frame ? Place.new(frame.full_path, frame.lineno, frame.qualified_label) : Keys::NO_STACK
    end

    # The frames that a row's memory came by, or most of it.
    def frames_of(row)
      return row.key if row.key.is_a?(Array)

      (handle = row.cohort.stack) ? cohorts.profile.stacks.stack(handle) : []
    end

    # The application's line by which most of a row's memory came, where the row is not of that line itself; nil if there is none.
    def application(row) # :nodoc:
      return unless (handle = row.cohort.stack) && @by != :stack

      came_by = CameBy.new(@by, [row.key])
      came_by.add_stack(row.key, cohorts.profile.stacks, handle)
      came_by.application(row.key) if Top::APPLICATION.include?(@by)
    end

    # Who keeps most of what is alive of a row: a NearestHolder::Answer; nil if no profile of the series tells.
    def holder(row)
      return unless @by != :stack && (profile = series.walked) && profile.nearest_holder

      keys = Keys.new(profile, @by)
      @walked_rows ||= profile.table.group_by { |columns| keys.of(columns) }
      profile.nearest_holder.of_rows(@walked_rows.fetch(row.key, []))
    end

    private

    def judge
      groups = cohorts.groups.reject { |key, _| Keys.machinery?(Leaks.place(key)) }
      tested = groups.filter_map { |key, cohort| row(key, cohort) }
      @judged, @unjudged = tested.size, groups.size - tested.size
      found = Statistics.discoveries(tested.map(&:odds), level: LEVEL)
      tested.zip(found) { |row, grows| row.verdict = named?(row) ? :leak : verdict(row, grows && !contradicted?, LEVEL / tested.size) }
      @leaks = tested.select { |row| row.verdict == :leak }.sort_by.with_index { |row, index| [-row.slope, index] }
      @others = tested.reject { |row| %i[leak none].include?(row.verdict) }.sort_by.with_index { |row, index| [-row.space, index] }
    end

    # Does the diagnosis name it, which knows RSS and needs fewer moments?  Its verdict is of its first finding.
    def named?(row)
      return false unless @by == :line && row.space > 0

      @named ||= diagnosis&.leak? ? leading.select { |group| diagnosis.settled.course(group).steady? }.map(&:key) : []
      @named.include?(row.key)
    end

    def leading = diagnosis.findings.first(1).select(&:steady?).flat_map(&:groups)

    # Does the process as a whole not grow, so that what grows here takes the place of something else?
    def contradicted?
      return @contradicted if defined?(@contradicted)

      @contradicted = diagnosis&.enough? && !diagnosis.leak? && !diagnosis.unsettled?
    end

    # A Candidate, nil if it has too few samples.
    def row(key, cohort)
      kinds = cohort.kinds
      trends = [*(:both if kinds.size > 1), *kinds].map { |kind| [kind, cohorts.trend(cohort, kind)] }
      trends.select! { |_, trend| enough?(trend) }
      return if trends.empty?

      (kind, trend), odds = trends.map { |pair| [pair, odds(pair.last)] }.min_by { |_, value| value }
      Candidate.new(key, cohort, trend, kind, :none, [odds * trends.size, 1.0].min)
    end

    def odds(trend) = trend.slowing? ? 1.0 : trend.odds

    # Few samples are enough of what is nearly all sampled.
    def enough?(trend)
      return true if trend.samples >= SAMPLES_LEAST

      whole = trend.whole
      whole.gained.variance + whole.lost.variance <= (Estimate::WEAK_ERROR * whole.space)**2 && !whole.zero?
    end

    # +grows+: by the odds of all rows; +alone+: odds that are enough for one of them.
    def verdict(row, grows, alone)
      return cohorts.settled? ? :leak : :unsettled if grows

      trend = row.trend
      return :none unless trend.whole.space > 0 && trend.whole_odds <= alone

      trend.slowing? ? :slowing : :unsteady
    end

    def time(moment) = moment.time.utc.strftime("%FT%TZ")

    def rate(trend)
      {bytes: trend.whole.space, bytes_per_hour: trend.slope, bytes_per_hour_interval: trend.slope_interval, samples: trend.whole.samples}
    end

    def figures_of(row)
      {**Analysis.key(Leaks.place(row.key), layout), verdict: row.verdict, **rate(row.trend), weak: row.weak?, memory: row.kind,
       application: application(row)&.then { |place| Analysis.key(place, layout) },
       holder: (holder(row)&.to_h if row.verdict == :leak), bytes_now: row.cohort.at(cohorts.size, row.kind).space, untouched_bytes_now: row.cohort.untouched(cohorts.size, row.kind),
       odds: row.odds, pace: row.trend.pace,
       classes: row.cohort.classes.first(Analysis::BRIEF).map { |class_name, space| {name: class_name, bytes: space} },
       stack: frames_of(row).map(&:to_s)}
    end
  end
end
