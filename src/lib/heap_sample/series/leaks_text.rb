# frozen_string_literal: true

module HeapSample
  # Leaks as text.
  class LeaksText
    OTHERS = 5
    # Leaks of which the stack is shown.
    STACKS = 3

    # How rows grew that are no leaks.
    HOW = {unsettled: "like a leak, or awaits a major GC", slowing: "slowing down, as a cache fills", unsteady: "in steps, or up and down"}.freeze
    KINDS = {slots: "heap slots", malloc: "malloc"}.freeze
    # Title, side, and the order in which a narrow table loses a column.
    COLUMNS = [["", :right], ["per hour", :right], ["95% interval", :right, 7], ["grew", :right, 4], ["now", :right, 5], ["samples", :right, 3]].freeze
    OTHER_COLUMNS = [["", :right], ["grew", :right], ["95% interval", :right, 2], ["samples", :right, 1], ["how", :left, 3]].freeze
    private_constant :COLUMNS, :OTHER_COLUMNS

    def initialize(leaks, layout)
      @leaks = leaks
      @layout = layout
    end

    def to_s
      return @layout.text([head, [*@layout.sentence(@leaks.reason), *diagnosed]]) if @leaks.reason

      @layout.text([head, table(@leaks.top), stacks, others, figures, conclusion])
    end

    # Short, with no more than +top+ rows.
    def lines(top = @leaks.top) = @leaks.reason ? [*title, *@layout.sentence(@leaks.reason)] : [*table(top), *conclusion]

    # "app/a.rb:1 A#b +10.0 MiB/h", of each leak.
    def summary
      @leaks.reason ? "too short to say" : @leaks.empty? ? "none found" : @leaks.map { |row| brief(row) }.join(", ")
    end

    private

    def brief(row)
      "#{@layout.place(Leaks.place(row.key))} #{@layout.bytes(row.slope, sign: true)}/h"
    end

    def series = @leaks.series
    def cohorts = @leaks.cohorts

    def title = @layout.title("Leaks: #{series.describe}")

    def head
      notes = [*(judged unless @leaks.reason), *series.warnings.map { |warning| "Warning: #{warning}" }, *cohorts.notes]
      [*title, *Header.part(series, @layout), *sentences(notes)]
    end

    # What was judged, and from when to when.
    def judged
      first, last = cohorts.moments.values_at(0, -1)
      from, to = [first, last].map { |moment| moment.time.utc.strftime("%H:%M:%S") }
      "Judged: what #{cohorts.settled? ? "#{Cohorts::MAJORS} more major" : "#{Cohorts::GCS} more"} GCs left alive#{Value::MEMORY_TITLES.fetch(@leaks.kind)}, from #{from} to #{to} UTC " \
        "(#{@layout.duration(cohorts.hours * 3600)}, #{@layout.count(last.gc - first.gc)} GCs), in #{cohorts.size} blocks"
    end

    def sentences(texts) = texts.compact.flat_map { |text| @layout.sentence(text) }

    def table(top)
      return [] if @leaks.empty?

      shown = @leaks.leaks.first(top)
      columns = [*COLUMNS, *([["memory", :left, 2]] if malloc?), *([["class", :left, 1, ClassMix::LEAST]] unless @leaks.by == :class), [@leaks.by.to_s, :left]]
      rows = shown.each_with_index.map { |row, index| cells(row, index) }
      [*@layout.title("Grows all along and is not collected, by #{@leaks.by}:"),
       *@layout.table(columns, rows, shown.map { |row| row.weak? ? :weak : :grown }, shown.map { |row| @leaks.application(row) }), *below(@leaks.leaks, shown)]
    end

    # What a table leaves out, and the meaning of its marks.
    def below(all, shown)
      [*@layout.more(all.size - shown.size), *@layout.legend(shown.any? { |row| row.weak? })]
    end

    def cells(row, index)
      [@layout.rank(index + 1, row.weak?), *@layout.figure(row.slope, row.slope_interval, sign: true),
       @layout.bytes(row.space, sign: true), @layout.bytes(row.cohort.at(cohorts.size, row.kind).space), @layout.count(row.samples),
       *(row.kind if malloc?), *(class_name(row) unless @leaks.by == :class), Leaks.place(row.key)]
    end

    # Does a row say which of its memory its figures are of?  Where it has both kinds.
    def malloc? = @leaks.leaks.any? { |row| row.kind != :slots || row.cohort.kinds.size > 1 }

    def class_name(row)
      classes(row).empty? ? Layout::NOTHING : ClassMix.first_of(classes(row), @layout)
    end

    # Of the memory that the row was judged by: no blocks are called objects, and no objects blocks.
    def classes(row)
      return row.cohort.classes.select { |name, _| name == ClassMix::MALLOC } if row.kind == :malloc
      return row.cohort.classes.reject { |name, _| name == ClassMix::MALLOC } if row.kind == :slots

      ClassMix.told(row.cohort.classes)
    end

    # "mostly `String`", "mostly blocks of malloc".
    def mostly(row)
      name, = classes(row).first
      ClassMix.mostly(name, @layout) if name
    end

    # Thread stacks and the like.
    def untouched
      bytes = @leaks.leaks.sum { |row| row.cohort.untouched(cohorts.size, row.kind) }
      return unless bytes >= Estimate::UNTOUCHED_LEAST

      "#{@layout.bytes(bytes)} more of these rows is malloc'd and was never touched: it fills no memory, and is in no figure."
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
        [@layout.rank(index + 1, row.weak?), *@layout.figure(row.space, row.trend.whole.space_interval, sign: true),
         @layout.count(row.samples), HOW.fetch(row.verdict), Leaks.place(row.key)]
      end
      [*@layout.title(cohorts.settled? ? "Grew, but not as a leak does:" : "Grew, but no leak for certain:"),
       *@layout.table([*OTHER_COLUMNS, [@leaks.by.to_s, :left]], rows, shown.map { |row| :weak if row.weak? }), *below(@leaks.others, shown)]
    end

    def figures
      sentences([everything, crowd, judged_rows, untouched, replaced, detectable])
    end

    # They are no rows: they are counted, not sampled.
    def crowd
      grown = @leaks.crowd or return

      made = ", most of the new ones made at #{@layout.subject(grown.place)}" if grown.place
      "#{grown.kind.capitalize}: #{@layout.count(grown.before)} at first, #{@layout.count(grown.now)} now#{made}."
    end

    def everything
      total = @leaks.total
      "Everything together: #{rate(total)}#{memory}."
    end

    # "+1.2 GiB an hour (+1.1 – +1.3 GiB)".
    def rate(grown)
      slope, limits = @layout.figure(grown.slope, grown.slope_interval, sign: true)
      "#{slope} an hour (#{limits})"
    end

    # Which memory the rate is of, where it is not of all.
    def memory = Value.part_of_all(cohorts.profile, @leaks.kind)

    def judged_rows
      few = " #{@layout.count(@leaks.unjudged)} more had fewer than #{Leaks::SAMPLES_LEAST} samples that came or went." if @leaks.unjudged > 0
      "#{@layout.count(@leaks.judged)} row#{@leaks.judged == 1 ? " was" : "s were"} judged.#{few}"
    end

    def detectable
      "A steady leak of #{@layout.bytes(@leaks.detectable)} an hour on one row would have been named, 19 times in 20; a smaller one may be missed."
    end

    # Sampling that began late sees births, and not the deaths that make up for them.
    def replaced
      died = cohorts.died_before
      grew = @leaks.leaks.sum(&:space)
      return unless died && grew > 0 && died > grew / 2

      "Of what was there before sampling started, #{@layout.bytes(died)} died meanwhile: what came in its place grows here, and may be no leak. " \
        "Sample from the start of the process to know."
    end

    def conclusion = [*@layout.sentence(@leaks.empty? ? none_found : steepest), *(diagnosed if @leaks.empty?)]

    def steepest
      row = @leaks.leaks.first
      "#{@leaks.leaks.size == 1 ? "It leaks at" : "#{@leaks.leaks.size} leaks, the steepest at"} #{@layout.subject(Leaks.place(row.key))}: " \
        "#{rate(row)}#{" of #{KINDS.fetch(row.kind)} alone" if row.cohort.kinds.size > 1 && row.kind != :both}" \
        "#{", mostly #{mostly(row)}" if @leaks.by != :class && classes(row).any?}.#{kept_by(row)}"
    end

    # Who keeps it, by a walk.
    def kept_by(row)
      holder = @leaks.holder(row) or return ""

      " #{holder.kept? ? "`#{holder.to_s(@layout)}`" : holder.to_s(@layout)} keeps #{@layout.percent(holder.share)} of it."
    end

    # What the diagnosis says where no row is named: it looks at RSS too, and does not need as much.
    def diagnosed
      whole = @leaks.diagnosis
      whole&.leak? || whole&.unsettled? ? @layout.sentence("As a whole: #{whole.text(width: @layout.width).sentence}") : []
    end

    def none_found
      return diagnosed.any? ? "No row is named for certain." : "None found." unless (row = @leaks.others.find { |other| other.verdict == :unsettled })

      "None found for certain. #{@layout.subject(Leaks.place(row.key))} grows like a leak, #{@layout.bytes(row.slope, sign: true)} an hour, but " \
        "major GCs were too few to tell it from garbage that waits for one. A longer series tells, or a GC.start now and then."
    end
  end
end
