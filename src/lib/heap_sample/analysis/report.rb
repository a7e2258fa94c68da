# frozen_string_literal: true

module HeapSample
  # A profile, told: what was sampled, what is in use by line and by class,
  # what is too young to say, what comes and goes, and a sentence that reads it.
  #
  # Figures are estimates of bytes and objects, of heap slots and of what malloc
  # gave together; intervals are at 95%, ages and lifetimes are in GCs.
  class Report
    include Analysis

    CLASSES = 10
    CHURN = 5

    MEASURES = {inuse: "in use", young: "young"}.freeze

    # call-seq:
    #   Report.new(profile, by: :line, kind: :both, top: 20, width: 120, root: Dir.pwd, style: nil)
    #
    # +by+: :line, :app, :method, :file, :class, :type, :gem, :function or :library;
    # +kind+: :slots, :malloc or :both; +top+: rows in a table; +width+: characters
    # in a line; +root+: paths below it are shortened; +style+: see Layout.  Raises
    # ArgumentError if one of them makes no sense.
    def initialize(profile, by: :line, kind: :both, top: Top::ROWS, width: Layout::WIDTH, root: Dir.pwd, style: nil)
      @options = {kind: kind, width: width, root: root, style: style}
      @kind = kind
      @profile = profile
      @info = profile.info
      @by = by
      @rows = top
      @layout = Layout.new(width: width, root: root, style: style)
      @top = Top.new(profile, by: by, top: top, **@options)
      @total = profile.groups(by, kind: kind).total
      @measure = @top.value.part
      @malloc = profile.malloc? && kind != :slots
    end

    def to_s
      @layout.text([head, lines, class_table, functions, remainder, churn.section([CHURN, @rows].min), account, conclusion])
    end

    # The main table, title first; at most +top+ rows of it.
    def lines(top = @rows)
      @top.lines(top)
    end

    # JSON-ready: numbers not rounded, intervals as [low, high].
    def to_h
      {
        header: Header.new(@info, @layout).to_h, filter: @profile.filtered&.names, top: @top.to_h,
        classes: (by_class.to_h if classes?), malloc_functions: (malloc_section.to_h if functions?),
        young: @total.young.to_h, before_start_bytes: before_start_bytes, churn: churn.to_h, **account_to_h
      }.compact
    end

    private

    def summary = @top.title

    def head
      [*Header.new(@info, @layout).lines, *Header.part(@profile, @layout)]
    end

    def live(group)
      group.public_send(@measure)
    end

    def classes? = @by != :class && @kind != :malloc && !live(@total).zero?

    def by_class
      @by_class ||= Top.new(@profile, by: :class, top: [@rows, CLASSES].min, **@options)
    end

    def class_table
      classes? ? [*@layout.title("By class:"), *by_class.table(notes: false)] : []
    end

    def functions? = @malloc && @by != :function

    def malloc_section = MallocSection.new(@profile, @layout, @rows)

    def functions
      functions? ? malloc_section.lines : []
    end

    def churn
      @churn ||= Churn.new(@profile, by: @by, top: @rows, **@options)
    end

    # What the tables leave out.
    def remainder
      return [] if @kind == :malloc

      lines = []
      if @measure == :inuse
        lines << "Young (born since the last completed mark, not in the tables): #{@layout.amount(@total.young)}"
      end
      lines << before_start
      lines.compact.flat_map { |line| @layout.sentence(line) }
    end

    # What is live and not of the profile is from before it, as near as the
    # slot counts tell: they have dead objects that no sweep has met.  Of a part of
    # the profile it is not known.
    def before_start_bytes
      live, at_start = @info.live_bytes, @info.live_bytes_at_start
      return unless live && at_start && !@profile.filtered

      (live - @total.slots_space - @total.young.space).clamp(0, at_start)
    end

    def before_start
      return unless before_start_bytes

      "(before start): about #{@layout.bytes(before_start_bytes)} of the slots that are allocated now, " \
        "of #{@layout.bytes(@info.live_bytes_at_start)} when sampling started"
    end

    # Where the memory of the process is, and what it grows in.
    def account
      now, start = @info.account, @info.account_at_start
      return [] if now.nil? || @profile.filtered
      return now.lines(@layout) unless start

      [*now.lines(@layout, start, "since sampling started"), *@layout.sentence(verdict.to_s)]
    end

    def account_to_h
      now, start = @info.account, @info.account_at_start
      return {} if now.nil? || @profile.filtered

      {account: now.to_h, account_at_start: start&.to_h, verdict: (verdict.to_s if start)}
    end

    def verdict
      Verdict.new(@info.account, @info.account_at_start, malloc: Verdict.malloc_of(@profile), layout: @layout)
    end

    def conclusion
      row = @top.first
      return @layout.sentence(nothing_found) unless row

      kept = "#{@layout.bytes(row.value)} #{@layout.bracketed(row.estimate)}#{@layout.resident(row.estimate)} in #{@layout.rough_count(row.estimate.objects)} " \
             "#{objects(row.group)}, #{@layout.percent(row.share)} of what is #{MEASURES[@measure]}"
      weak = " Too few samples to rely on: sample longer, or at a smaller interval." if row.weak?
      @layout.sentence("The largest: #{@layout.subject(row.key)} #{@measure == :inuse ? "keeps" : "made"} #{kept}.#{weak}")
    end

    def nothing_found
      return "Nothing that matches is known to be in use." if @profile.filtered

      "Nothing that was allocated since sampling started is known to be in use."
    end

    # "`String`s", "objects, mostly `String`s", "`String`s and blocks of malloc".
    def objects(group)
      return "objects" if @by == :class

      slots = group.inuse.space - group.malloc.space
      return "blocks of malloc" if @measure == :inuse && group.malloc.space > 0.99 * group.inuse.space

      classes = ClassMix.new(@profile, group, @layout).sentence
      return classes if @measure != :inuse || group.malloc.zero?

      parts = [classes, "blocks of malloc"]
      parts.reverse! if group.malloc.space > slots
      parts.join(" and ")
    end
  end
end
