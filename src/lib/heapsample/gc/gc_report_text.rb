# frozen_string_literal: true
# shareable_constant_value: literal

module HeapSample
  # A GCReport as text: what GC costs, a plot over time, the reasons, and the last GCs.
  class GCReportText
    CAUSES = [["reason", :left], ["GCs", :right], ["CPU time", :right], ["share", :right], ["longest pause", :right], ["what makes them rarer", :left]]
    ENTRIES = [["began (UTC)", :left], ["GCs", :right], ["major", :right], ["marking", :right, 6], ["sweeping", :right, 6], ["longest pause", :right, 7], ["allocated", :right, 5],
               ["promoted", :right, 3], ["old", :right, 4], ["free slots", :right, 2], ["pages", :right, 1], ["reason", :left]]
    # What is plotted: title, and how a figure is printed.
    PLOTS = {took: ["CPU time", :time], pause: ["longest pause", :time], allocated: ["allocated", :count], old_objects: ["old objects", :count],
             free_slots: ["free slots", :count], pages: ["heap pages", :count]}
    LARGEST = %i[pause old_objects free_slots pages]
    NAMES = {sweep: "sweeping", pause: "longest pause", promoted: "promoted"}
    BARS = 60
    TITLE_WIDTH = 14
    private_constant :CAUSES, :ENTRIES, :PLOTS, :LARGEST, :BARS, :NAMES, :TITLE_WIDTH

    def initialize(report, layout)
      @report = report
      @record = report.record
      @layout = layout
    end

    def to_s = @layout.text([[*@layout.title(summary), *@report.cost.sentences(@layout).flat_map { |one| @layout.sentence(one) }, *absent], plot, causes, lines])

    # The last GCs, +count+ rows at most.
    def lines(count = @report.top)
      shown = @record.entries.last(count)
      [*@layout.title(shown.size < @record.entries.size ? "The last #{shown.size} of #{@record.entries.size} entries:" : "All GCs:"),
       *@layout.table(ENTRIES, shown.map { |entry| cells(entry) })]
    end

    def summary
      of = [("process #{@record.process_id}" if @record.process_id), @record.title].compact.join(", ")
      "#{@layout.count(@record.gcs)} GCs (#{@layout.count(@record.majors)} major)#{" of #{of}" unless of.empty?}#{", in #{@layout.duration(@record.span)}" if @record.entries.size > 1}"
    end

    # A line of names, and one for each entry: times in seconds, the start as Unix time; nothing where a value is not known.
    def to_csv
      rows = @record.entries.map { |entry| [*entry.to_a.map { |value| value.is_a?(Time) ? format("%.3f", value.to_f) : value }].join(",") }
      "#{[GCRecord::COLUMNS.join(","), *rows].join("\n")}\n"
    end

    private

    def absent
      return [] if @record.missing.empty?

      both = " Marking and sweeping are one column." if @record.missing.include?(:sweep)
      @layout.sentence("This Ruby does not have: #{@record.missing.map { |name| NAMES.fetch(name) }.join(", ")}.#{both} A Ruby with the heap sampler has all columns.")
    end

    # A row of bars for each figure, over equal parts of the time.
    def plot
      return [] if @record.entries.size < 3

      bars = [BARS, @layout.width - 48].min.clamp(10, BARS)
      PLOTS.filter_map do |name, (title, unit)|
        values = over_time(bars, name)
        next if values.nil? || values.max.zero?

        "#{title.ljust(TITLE_WIDTH)} #{Plot.bars(values, values.max.to_f, bars,
least: 0)}  at most #{@layout.public_send(unit, values.max)}#{" in #{@layout.time(@record.span / bars)}" unless LARGEST.include?(name)}"
      end
    end

    # Sums, or the largest value where a sum makes no sense, in so many equal parts of the time; of a part without GC the value
    # before is still true. nil if it is not known.
    def over_time(parts, name)
      entries = @record.entries
      return if entries.all? { |entry| entry.public_send(name).nil? }

      from, span = entries.first.time, [@record.span, 1e-3].max
      groups = entries.group_by { |entry| [((entry.time - from) / span * parts).floor, parts - 1].min }
      last = 0
      Array.new(parts) do |part|
        values = groups.fetch(part, []).filter_map { |entry| entry.public_send(name) }
        next values.sum unless LARGEST.include?(name)

        last = values.max || (name == :pause ? 0 : last)
      end
    end

    def causes
      total = @record.seconds
      rows = @record.causes.map do |cause|
        [cause.reason, @layout.count(cause.gcs), milliseconds(cause.seconds), cause.seconds && total.positive? ? @layout.percent(cause.seconds / total) : Layout::NOTHING,
         milliseconds(cause.pause), GCCost::SETTINGS[cause.reason] || GCRecord::REASONS.fetch(cause.reason)]
      end
      rows.empty? ? [] : @layout.table(CAUSES, rows)
    end

    def cells(entry)
      figures = entry.to_a.drop(8).map { |value| value ? @layout.count(value) : Layout::NOTHING }
      allocated, promoted, pages, free, old = figures
      [entry.time.utc.strftime("%T.%L"), @layout.count(entry.gcs), @layout.count(entry.majors), *[entry.mark, entry.sweep, entry.pause].map { |time| milliseconds(time) },
       allocated, promoted, old, free, pages, entry.reason || "?"]
    end

    def milliseconds(seconds) = seconds ? "#{format("%.1f", seconds * 1000)} ms" : Layout::NOTHING
  end
end
