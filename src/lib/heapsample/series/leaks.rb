# frozen_string_literal: true

module HeapSample
  # Which rows of a series grow all along, and are not collected?
  #
  # This is a view of the diagnosis (ProcessDiagnosis), which judges the process and its lines: it shows all rows that grew, by
  # line or grouped otherwise.  A row has the grade of the process if at least half of what the row retains was allocated by
  # lines that grow as a leak does: it is a leak if the process leaks, and its grade is :unknown if that of the process is.  All
  # other rows have the grade :none: what grows in them takes the place of other memory, or is little.
  #
  # All figures are of Survivors: what major GCs left alive, of slots and of malloc memory that is resident.
  class Leaks
    TOP = Top::ROWS
    # Of what came to stay in a row, so much has to come by lines that leak.
    SHARE_LEAST = 0.5

    TEXT = LeaksText

    # A row: its key (a Place, a name, or frames), SurvivorGroup and Course; +grade+ is one of ProcessDiagnosis::GRADES;
    # +pattern+ is how it grew: :steady, :slowing, :uneven (in steps, or up and down), or nil if it did not grow; +hours+ that were
    # judged.
    Candidate = Struct.new(:key, :group, :course, :grade, :pattern, :hours) do
      # Is it a leak?
      def leak? = ProcessDiagnosis::LEAK_GRADES.include?(grade)
      # Bytes an hour, and the 95% interval.
      def slope = space / hours
      # The 95% interval of #slope, by sampling alone.
      def slope_interval = course.interval.map { |bytes| bytes / hours }
      # Bytes that came to stay.
      def space = course.grew
      # Bytes that survive now.
      def now = group.spaces.last
      # Samples behind it, and whether they are too few to rely on.
      def samples = group.samples
      def weak? = samples < Finding::SAMPLES_LEAST
      # Which memory it is of: :slots, :malloc or :both.
      def kind = group.libraries.keys.partition(&:nil?).then { |slots, malloc| malloc.empty? ? :slots : slots.empty? ? :malloc : :both }
      # Names of classes with the bytes that came and stayed, the most first.
      def classes = group.classes.sort_by { |name, space| [-space, name] }

      def inspect
        "#<#{self.class} #{grade} #{Layout.new.place(Leaks.place(key))} #{Layout.new.bytes(slope, sign: true)}/h>"
      end
    end

    # Its name in earlier versions.
    Row = Candidate

    attr_reader :series, :by, :kind, :top
    # Rows that leak, the steepest first, but the one that the diagnosis names before all: Array of Leaks::Candidate.
    attr_reader :leaks
    # Rows that grew otherwise, the largest growth first.
    attr_reader :others
    # What judges: the ProcessDiagnosis of the whole process.
    attr_reader :diagnosis
    # Survivors, by what rows are grouped; nil if nothing can be said.
    attr_reader :survivors

    include Analysis
    include Enumerable

    # call-seq:
    #   Leaks.new(series, by: :line, kind: :both, top: 20, warmup: nil)
    #
    # +by+: :line, :method, :file, :class, … (Groups::BY), or :stack; +kind+: :slots,
    # :malloc or :both; +warmup+: seconds since sampling started that are not judged, a
    # fifth of that time unless given.  Raises ArgumentError if one of them makes no sense.
    def initialize(series, by: :line, kind: :both, warmup: nil, top: TOP)
      @by = Groups.by(by, [:stack])
      Groups.wanted(kind)
      Layout.check(top: top)
      @series = series
      @kind = kind
      @top = top
      @diagnosis = series.whole.diagnosis(warmup: warmup)
      @leaks, @others = [], []
      judge unless reason
    end

    # Why nothing can be said, a String; nil if something can.
    def reason
      return diagnosis.text.sentence unless diagnosis.enough?

      "The profiles do not tell when GCs were, so what stays is not known." unless gcs_known?
    end

    # Threads or fibers of which there are ever more: a Crowd, or nil.
    def crowd = diagnosis.crowd

    # Is there no leak?
    def empty? = leaks.empty?
    def each(&block) = leaks.each(&block)

    # Everything together: a Candidate without a key; nil if nothing can be said.
    def total = (@total ||= candidate(SurvivorGroup.sum(groups, survivors.moments.size), nil) unless reason)

    # Bytes that came to the rows that leak, and were never touched.
    def untouched = sums.values_at(*leaks.map(&:key)).compact.sum(&:untouched)

    # Hours that are judged.
    def hours = [survivors.seconds, 1e-3].max / 3600

    # call-seq:
    #   detectable -> Float or nil
    #
    # Bytes an hour: a steady leak of that much on one line would have been named 19 times
    # in 20; nil if nothing can be said.
    def detectable = (diagnosis.detectable unless reason)

    # JSON-ready: numbers not rounded, intervals as [low, high].
    def to_h(stacks: true)
      figures = {process_id: series.infos.first.process_id, profiles: series.size, by: by, kind: kind, filter: series.filtered&.names,
                 warnings: series.warnings, reason: reason, verdict: diagnosis.verdict}
      figures[:crowd] = crowd&.to_h
      return figures.merge(leaks: [], others: []) if reason

      figures.merge(
        from: time(from), to: time(survivors.moments.last.seconds), hours: hours, detectable_bytes_per_hour: detectable, total: rate(total),
        leaks: self.leaks.map { |row| figures_of(row, stacks) }, others: self.others.map { |row| figures_of(row, stacks) }
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

      (handle = row.group.stack) ? survivors.profile.stacks.stack(handle) : []
    end

    # The application's line by which most of a row's memory came, where the row is not of that line itself; nil if there is none.
    def application(row) # :nodoc:
      return unless (handle = row.group.stack) && @by != :stack

      came_by = CameBy.new(@by, [row.key])
      came_by.add_stack(row.key, survivors.profile.stacks, handle)
      came_by.application(row.key) if Top::APPLICATION.include?(@by)
    end

    # Who keeps most of what is alive of a row: a NearestHolder::Answer; nil if no profile of the series tells.
    def holder(row)
      return unless @by != :stack && (profile = series.walked) && profile.nearest_holder

      keys = Keys.new(profile, @by)
      @walked_rows ||= profile.table.group_by { |columns| keys.of(columns) }
      profile.nearest_holder.of_rows(@walked_rows.fetch(row.key, []))
    end

    # When the judged time begins, seconds since the session began.
    def from = [diagnosis.from, survivors.moments.first.seconds].max # :nodoc:

    # A Time, of such seconds.
    def moment(seconds) = survivors.clock.began + seconds # :nodoc:

    private

    def gcs_known? = series.infos.any? { |info| info.gc_count && info.gc_major }

    def judge
      @survivors = diagnosis.survivors_by(by, kind, of: series)
      rows = groups.map { |group| candidate(group, sums[group.key]&.share) }
      named, others = rows.partition(&:leak?)
      first = diagnosis.leaking_lines.first
      @leaks = named.sort_by.with_index { |row, index| [row.key == first ? 0 : 1, -row.slope, index] }
      @others = others.select(&:pattern).sort_by.with_index { |row, index| [-row.space, index] }
    end

    def groups = survivors.groups.values.reject { |group| Keys.machinery?(Leaks.place(group.key)) }

    def candidate(group, share)
      course = survivors.course(group)
      Candidate.new(group.key, group, course, *judged(group, course, share || 0.0), hours)
    end

    # The grade and the pattern of a row.  +share+: how much of what is retained was allocated by lines that leak.
    def judged(group, course, share)
      return [:none, nil] unless group.born > 0 && course.grew > 0
      return [diagnosis.grade, :steady] if share >= SHARE_LEAST
      return [:none, nil] unless group.samples >= Finding::SAMPLES_LEAST && course.certain?
      return %i[none slowing] if course.slowing?(survivors.work)

      [:none, course.steady? && course.keeps? ? :steady : :uneven]
    end

    # Of what came to stay in a row: bytes, those of lines that leak, and those that were never touched.
    Came = Struct.new(:space, :leaking, :untouched) do
      def add(row, leaks)
        self.space += row[Columns::RESIDENT]
        self.leaking += row[Columns::RESIDENT] if leaks
        self.untouched += row[Columns::INUSE_SPACE] - row[Columns::RESIDENT] if row[Columns::MALLOC]
      end

      def share = space > 0 ? leaking / space : 0.0
    end
    private_constant :Came

    # Key => Came.
    def sums
      @sums ||= begin
        lines = diagnosis.leaking_lines
        keys, places = [by, :line].map { |one| RowKeys.of(survivors.profile, one) }
        came = Hash.new { |all, key| all[key] = Came.new(0.0, 0.0, 0.0) }
        survivors.born_lately { |row, _| came[keys.of(row)].add(row, lines.include?(places.of(row))) }
        came
      end
    end

    def time(seconds) = moment(seconds).utc.strftime("%FT%TZ")

    def rate(row)
      {bytes: row.space, bytes_per_hour: row.slope, bytes_per_hour_interval: row.slope_interval, samples: row.samples}
    end

    def figures_of(row, stacks)
      {**Analysis.key(Leaks.place(row.key), layout), grade: row.grade, pattern: row.pattern, **rate(row), weak: row.weak?, memory: row.kind,
       application: application(row)&.then { |place| Analysis.key(place, layout) },
       holder: (holder(row)&.to_h if row.leak?), bytes_now: row.now,
       parts: row.course.parts, classes: row.classes.first(Analysis::BRIEF).map { |class_name, space| {name: class_name, bytes: space} },
       stack: (frames_of(row).map(&:to_s) if stacks)}
    end
  end
end
