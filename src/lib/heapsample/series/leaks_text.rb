# frozen_string_literal: true
# shareable_constant_value: literal

module HeapSample
  # Leaks as text.
  class LeaksText
    OTHERS = 5
    # Leaks of which the stack is shown.
    STACKS = 3

    # How rows grew that are no leaks; of grade :unknown the first.
    UNKNOWN = "steadily; a leak or not: unknown"
    HOW = {steady: "steadily, but little, or in place of other memory", slowing: "slowing down, as a cache fills", uneven: "in steps, or up and down"}
    # Title, side, and the order in which a narrow table loses a column.
    COLUMNS = [["", :right], ["per hour", :right], ["95% interval", :right, 7], ["grew", :right, 4], ["now", :right, 5], ["samples", :right, 3]]
    OTHER_COLUMNS = [["", :right], ["grew", :right], ["95% interval", :right, 2], ["samples", :right, 1], ["how", :left, 3]]
    private_constant :COLUMNS, :OTHER_COLUMNS, :UNKNOWN

    def initialize(leaks, layout)
      @leaks = leaks
      @layout = layout
    end

    def to_s
      return @layout.text([head, [*@layout.sentence(@leaks.reason), *(conclusion if @leaks.diagnosis.enough?)]]) if @leaks.reason

      @layout.text([head, table(@leaks.top), stacks, others, figures, conclusion])
    end

    # Short, with no more than +top+ rows.
    def lines(top = @leaks.top) = @leaks.reason ? [*title, *@layout.sentence(@leaks.reason)] : [*table(top), *conclusion]

    # "app/a.rb:1 A#b +10.0 MiB/h", of each leak.
    def summary
      @leaks.reason ? "cannot tell" : @leaks.empty? ? "none found" : @leaks.map { |row| brief(row) }.join(", ")
    end

    private

    def brief(row)
      "#{@layout.place(Leaks.place(row.key))} #{@layout.bytes(row.slope, sign: true)}/h"
    end

    def series = @leaks.series
    def survivors = @leaks.survivors

    def title = @layout.title("Leaks: #{series.describe}")

    def head
      [*title, *Header.part(series, @layout), *sentences([*(judged unless @leaks.reason), *series.warnings.map { |warning| "Warning: #{warning}" }])]
    end

    # What was judged, and from when to when.
    def judged
      from, to = [@leaks.from, survivors.moments.last.seconds].map { |seconds| @leaks.moment(seconds).utc.strftime("%H:%M:%S") }
      "Judged: memory #{diagnosed.survived}#{Value::MEMORY_TITLES.fetch(@leaks.kind)}, from #{from} to #{to} UTC (#{@layout.duration(@leaks.hours * 3600)})"
    end

    # The diagnosis as text.
    def diagnosed = ProcessDiagnosisText.new(@leaks.diagnosis, @layout)

    def sentences(texts) = texts.compact.flat_map { |text| @layout.sentence(text) }

    def table(top)
      return [] if @leaks.empty?

      shown = @leaks.leaks.first(top)
      columns = [*COLUMNS, *([["memory", :left, 2]] if malloc?), *([["class", :left, 1, ClassMix::LEAST]] unless @leaks.by == :class), [@leaks.by.to_s, :left]]
      rows = shown.each_with_index.map { |row, index| cells(row, index) }
      [*@layout.title("Grows steadily and is not collected, by #{@leaks.by}:"),
       *@layout.table(columns, rows, shown.map { |row| row.weak? ? :weak : :grown }, shown.map { |row| @leaks.application(row) }), *below(@leaks.leaks, shown)]
    end

    # What a table leaves out, and the meaning of its marks.
    def below(all, shown)
      [*@layout.more(all.size - shown.size), *@layout.legend(shown.any?(&:weak?))]
    end

    def cells(row, index)
      [@layout.rank(index + 1, row.weak?), *@layout.figure(row.slope, row.slope_interval, sign: true),
       @layout.bytes(row.space, sign: true), @layout.bytes(row.now), @layout.count(row.samples),
       *(row.kind if malloc?), *(class_name(row) unless @leaks.by == :class), Leaks.place(row.key)]
    end

    # Does a row say which memory it is of?  Where one has malloc'd memory.
    def malloc? = @leaks.leaks.any? { |row| row.kind != :slots }

    # Of what is no object, no class is said.
    def class_name(row)
      classes = row.kind == :malloc ? row.classes.select { |name, _| name == ClassMix::MALLOC } : ClassMix.told(row.classes)
      classes.empty? ? Layout::NOTHING : ClassMix.first_of(classes, @layout)
    end

    # Where the memory of the first leaks comes from.
    def stacks
      shown = @leaks.leaks.first([@layout.stacks? ? @leaks.top : STACKS, @leaks.top].min)
      StackText.section(shown.each_with_index.map { |row, index| [index + 1, @leaks.frames_of(row)] }, @layout)
    end

    def others
      shown = @leaks.others.first([OTHERS, @leaks.top].min)
      return [] if shown.empty?

      rows = shown.each_with_index.map do |row, index|
        [@layout.rank(index + 1, row.weak?), *@layout.figure(row.space, row.course.interval, sign: true),
         @layout.count(row.samples), how(row), Leaks.place(row.key)]
      end
      [*@layout.title(@leaks.diagnosis.unknown? ? "Grew, and may be a leak:" : "Grew, but not as a leak does:"),
       *@layout.table([*OTHER_COLUMNS, [@leaks.by.to_s, :left]], rows, shown.map { |row| :weak if row.weak? }), *below(@leaks.others, shown)]
    end

    def how(row) = row.grade == :unknown ? UNKNOWN : HOW.fetch(row.pattern)

    def figures = sentences([everything, crowd, untouched, detectable])

    # Thread stacks and the like.
    def untouched
      bytes = @leaks.untouched
      return unless bytes >= Estimate::UNTOUCHED_LEAST

      "#{@layout.bytes(bytes)} more of these rows is malloc'd and was never touched: it fills no memory, and is in no figure."
    end

    # They are no rows: they are counted, not sampled.
    def crowd
      grown = @leaks.crowd or return

      made = ", most of the new ones made at #{@layout.subject(grown.place)}" if grown.place
      "#{grown.kind.capitalize}: #{@layout.count(grown.before)} at first, #{@layout.count(grown.now)} now#{made}."
    end

    def everything
      slope, limits = @layout.figure(@leaks.total.slope, @leaks.total.slope_interval, sign: true)
      "All retained memory: #{slope}/hour (#{limits})#{Value.part_of_all(survivors.profile, @leaks.kind)}."
    end

    def detectable
      "A steady leak of #{@layout.bytes(@leaks.detectable)}/hour or more on one line would have been found, 19 times in 20."
    end

    # What the diagnosis says; of a part of the rows that may be of others.
    def conclusion
      whole = series.filtered || @leaks.kind != :both
      none = "None of these rows leaks. " if whole && @leaks.empty? && @leaks.diagnosis.leak?
      @layout.sentence("#{none}#{"As a whole: " if whole}#{diagnosed.sentence}")
    end
  end
end
