# frozen_string_literal: true

module HeapSample
  # A Report as text.
  class ReportText
    PARTS = {inuse: "live memory", young: "young memory"}.freeze

    def initialize(report, layout)
      @report = report
      @layout = layout
      @info = report.profile.info
      @top = TopText.new(report.top, layout)
    end

    def to_s
      @layout.text([head, lines, class_table, functions, remainder, duplicates, churn, heap_pages, account, alive, stuck, conclusion])
    end

    # The main table, title first; at most +count+ rows of it.
    def lines(count = nil) = @top.lines(count)

    def summary = @top.title

    private

    def head
      [*Header.new(@info, @layout).lines, *Header.part(@report.profile, @layout)]
    end

    def class_table
      @report.classes? ? [*@layout.title("By class:"), *TopText.new(@report.by_class, @layout).table(notes: false)] : []
    end

    def functions
      @report.functions? ? MallocFunctionsText.new(@report.malloc_functions, @layout).lines : []
    end

    def churn
      ChurnText.new(@report.churn, @layout).section([Report::CHURN, @report.rows].min)
    end

    # Strings of a heap dump that have the same contents.
    def duplicates = @report.duplicates? ? Dump::DuplicatesText.new(@report.profile, @report.profile.dump, @layout).lines : []

    # What the tables leave out.
    def remainder
      return [] if @report.kind == :malloc || @info.dump?

      lines = []
      if @report.part == :inuse
        lines << "Young (allocated since the last GC, not in the tables): #{@layout.amount(@report.total.young)}"
      end
      lines << before_start
      lines.compact.flat_map { |line| @layout.sentence(line) }
    end

    def before_start
      bytes = @report.before_start_bytes or return

      "(before start): about #{@layout.bytes(bytes)} of slots still allocated, " \
        "of #{@layout.bytes(@info.live_bytes_at_start)} when sampling started"
    end

    # Who holds free memory, where there is much.
    def heap_pages
      @report.kind == :malloc || @report.profile.filtered ? [] : HeapPagesText.new(@report.heap_pages, @layout).lines
    end

    # Where the memory of the process is, and what it grows in.
    def account
      now, start = @info.account, @info.account_at_start
      return [] if now.nil? || @report.profile.filtered
      return AccountText.new(now, @layout).lines unless start

      [*AccountText.new(now, @layout, earlier: start, since: "since sampling started").lines, *@layout.sentence(@report.account_growth.to_s)]
    end

    # Its threads and fibers, where there are more than the main thread.
    def alive
      alive = @info.alive
      return [] if alive.nil? || @report.profile.filtered

      AliveText.new(alive, @layout, before: @info.account_at_start&.alive || {}, since: "since sampling started").lines
    end

    # Threads that can never wake.
    def stuck = @report.profile.filtered ? [] : StuckThreadsText.new(@report.stuck, @layout).lines

    def conclusion
      row = @report.largest
      return @layout.sentence(nothing_found) unless row

      kept = "#{@layout.size(row.estimate)} #{@layout.bracketed(row.estimate)}#{@layout.resident(row.estimate)} in #{@layout.rough_count(row.estimate.objects)} " \
             "#{objects(row.group)}, #{@layout.percent(row.share)} of #{PARTS.fetch(@report.part)}"
      weak = " Too few samples to rely on: sample longer, or at a smaller interval." if row.weak?
      @layout.sentence("The largest: #{@layout.subject(row.key)} #{verb(row)} #{kept}.#{weak}#{awaiting(row)}")
    end

    def verb(row)
      return "allocated" unless @report.part == :inuse

      awaiting(row).empty? ? "retains" : "holds"
    end

    def awaiting(row)
      @report.part == :inuse ? AwaitsMajor.of_row(row.group.awaiting, row.group.inuse.space) : ""
    end

    def nothing_found
      return "No matching memory is known to be live." if @report.profile.filtered

      "No memory allocated since sampling started is known to be live."
    end

    # "`String`s", "objects, mostly `String`s", "`String`s and blocks of malloc".
    def objects(group)
      return "objects" if @report.by == :class

      slots = group.inuse.space - group.malloc.space
      return "blocks of malloc" if @report.part == :inuse && group.malloc.space > 0.99 * group.inuse.space

      classes = ClassMix.new(@report.profile, group, @layout).sentence
      return classes if @report.part != :inuse || group.malloc.zero?

      parts = [classes, "blocks of malloc"]
      parts.reverse! if group.malloc.space > slots
      parts.join(" and ")
    end
  end
end
