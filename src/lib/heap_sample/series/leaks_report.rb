# frozen_string_literal: true

module HeapSample
  # What Leaks found, as text and as figures.
  class LeaksReport
    OTHERS = 5
    # Leaks of which the stack is shown, and frames of it.
    STACKS = 3
    FRAMES = 8
    CLASSES = 5

    HOW = {unsettled: "like a leak, or garbage that waits for a major GC", slowing: "slowing down, as a cache that fills", unsteady: "not steadily: in steps, or up and down"}.freeze

    # The options of Leaks.new that are about text.
    def initialize(leaks, top: Top::ROWS, width: Layout::WIDTH, root: Dir.pwd, style: nil)
      Layout.check(top: top, width: width)
      @leaks = leaks
      @top = top
      @layout = Layout.new(width: width, root: root)
      @style = style
    end

    def to_s
      return "#{[*head, "", @leaks.reason].join("\n")}\n" if @leaks.reason

      sections = [head, table(@top), stacks, others, summary, [conclusion]]
      "#{sections.reject(&:empty?).map { |lines| lines.join("\n") }.join("\n\n")}\n"
    end

    def to_h
      figures = {"process_id" => series.infos.first.process_id, "profiles" => series.size, "by" => @leaks.by.to_s,
                 "kind" => @leaks.kind.to_s, "filter" => series.filtered&.names, "warnings" => series.warnings + cohorts.notes, "reason" => @leaks.reason}
      return figures.merge("leaks" => [], "others" => []) if @leaks.reason

      figures.merge(
        "from" => time(cohorts.moments.first), "to" => time(cohorts.moments.last), "hours" => cohorts.hours,
        "blocks" => cohorts.size, "rows_judged" => @leaks.judged, "rows_of_too_few_samples" => @leaks.unjudged,
        "level" => Leaks::LEVEL, "detectable_bytes_per_hour" => @leaks.detectable,
        "total" => rate(@leaks.total), "died_from_before_start_bytes" => cohorts.died_before, "leaks" => @leaks.leaks.map { |row| figures_of(row) },
        "others" => @leaks.others.map { |row| figures_of(row) }
      )
    end

    # Short, with no more than +top+ rows.
    def lines(top) = @leaks.reason ? [head.first, @leaks.reason] : [*table(top), conclusion]

    # "app/a.rb:1 A#b +10.0 MiB/h".
    def brief(row)
      "#{@layout.place(place(row.key))} #{@layout.bytes(row.slope, sign: true)}/h"
    end

    private

    def series = @leaks.series
    def cohorts = @leaks.cohorts

    def head
      lines = [title("Leaks: #{series.describe}"), *Header.part(series, @layout)]
      unless @leaks.reason
        from, to = [cohorts.moments.first, cohorts.moments.last].map { |moment| moment.time.utc.strftime("%H:%M:%S") }
        lines << "Judged: what #{cohorts.settled? ? "#{Cohorts::MAJORS} more major" : "#{Cohorts::GCS} more"} GCs left alive#{Value::KINDS.fetch(@leaks.kind)}, from #{from} to #{to} UTC " \
                 "(#{@layout.duration(cohorts.hours * 3600)}, #{@layout.count(cohorts.moments.last.gc - cohorts.moments.first.gc)} GCs), " \
                 "in #{cohorts.size} blocks"
      end
      lines.concat(series.warnings.map { |warning| "Warning: #{warning}" }).concat(cohorts.notes)
    end

    def table(top)
      return [] if @leaks.empty?

      shown = @leaks.leaks.first(top)
      columns = ["", "per hour", "95% interval", "grew", "now", "samples"].map { |name| [name, :right] }
      columns << ["memory", :left] if malloc?
      columns << ["class", :left] unless @leaks.by == :class
      rows = shown.each_with_index.map { |row, index| cells(row, index) }
      more = @leaks.leaks.size - shown.size
      [title("Grows all along and is not collected, by #{@leaks.by}:"),
       *@layout.table([*columns, [@leaks.by.to_s, :left]], rows), *("and #{@layout.count(more)} more" if more > 0)]
    end

    def cells(row, index)
      low, high = row.slope_interval
      [(index + 1).to_s, @layout.bytes(row.slope, sign: true), @layout.range(low, high, sign: true),
       @layout.bytes(row.space, sign: true), @layout.bytes(row.cohort.at(cohorts.size, row.kind).space), @layout.count(row.samples),
       *(row.kind if malloc?), *(class_name(row) unless @leaks.by == :class), place(row.key)]
    end

    # Does a row say which of its memory its figures are of?  Where it has both kinds.
    def malloc? = @leaks.leaks.any? { |row| row.kind != :slots || row.cohort.kinds.size > 1 }

    def class_name(row)
      names = classes(row).map { |name, _| name.empty? ? "(unknown)" : name }
      "#{names.first}#{" +#{names.size - 1}" if names.size > 1}"
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

    # What a table shows of a key: of a stack its line.
    def place(key)
      return key unless key.is_a?(Array)

      frame = key.find { |candidate| !candidate.native? && !candidate.path.start_with?("<internal:") } || key.first
      frame ? Place.new(frame.full_path, frame.lineno, frame.qualified_label) : Keys::NO_STACK
    end

    # Where the memory of the first leaks comes from.
    def stacks
      @leaks.leaks.first([STACKS, @top].min).each_with_index.flat_map do |row, index|
        frames = frames_of(row)
        next [] if frames.empty?

        more = frames.size - FRAMES
        ["Most of #{index + 1} came by:",
         *frames.first(FRAMES).map { |frame| "  #{@layout.place(Place.new(frame.full_path, frame.lineno, frame.label), @layout.width - 2)}" },
         *("  and #{more} more" if more > 0)]
      end
    end

    def frames_of(row)
      return row.key if row.key.is_a?(Array)

      (handle = row.cohort.stack) ? cohorts.profile.stacks.stack(handle) : []
    end

    def others
      shown = @leaks.others.first([OTHERS, @top].min)
      return [] if shown.empty?

      columns = [["grew", :right], ["95% interval", :right], ["samples", :right], ["how", :left], [@leaks.by.to_s, :left]]
      rows = shown.map do |row|
        [@layout.bytes(row.space, sign: true), @layout.range(*row.trend.whole.space_interval, sign: true), @layout.count(row.samples),
         HOW.fetch(row.verdict), place(row.key)]
      end
      more = @leaks.others.size - shown.size
      [title(cohorts.settled? ? "Grew, but not as a leak does:" : "Grew, but no leak for certain:"), *@layout.table(columns, rows), *("and #{@layout.count(more)} more" if more > 0)]
    end

    def summary
      total = @leaks.total
      low, high = total.slope_interval
      lines = ["Everything together: #{@layout.bytes(total.slope, sign: true)} an hour (#{@layout.range(low, high, sign: true)})."]
      few = " #{@layout.count(@leaks.unjudged)} more had fewer than #{Leaks::SAMPLES_LEAST} samples that came or went." if @leaks.unjudged > 0
      lines << "#{@layout.count(@leaks.judged)} row#{@leaks.judged == 1 ? " was" : "s were"} judged.#{few}"
      lines << untouched if untouched
      lines << replaced if replaced
      lines << "A steady leak of #{@layout.bytes(@leaks.detectable)} an hour on one row would have been named, 19 times in 20; " \
               "a smaller one may be missed."
      lines
    end

    # Sampling that began late sees births, and not the deaths that make up for them.
    def replaced
      died = cohorts.died_before
      grew = @leaks.leaks.sum(&:space)
      return unless died && grew > 0 && died > grew / 2

      "Of what was there before sampling started, #{@layout.bytes(died)} died meanwhile: what came in its place grows here, and may be no leak. " \
        "Sample from the start of the process to know."
    end

    def conclusion
      return none_found if @leaks.empty?

      row = @leaks.leaks.first
      low, high = row.slope_interval
      "#{@leaks.leaks.size == 1 ? "It leaks at" : "#{@leaks.leaks.size} leaks, the steepest at"} #{@layout.subject(place(row.key))}: " \
        "#{@layout.bytes(row.slope, sign: true)} an hour (#{@layout.range(low, high, sign: true)})" \
        "#{", mostly #{mostly(row)}" if @leaks.by != :class && classes(row).any?}."
    end

    def none_found
      return "None found." unless (row = @leaks.others.find { |other| other.verdict == :unsettled })

      "None found for certain. #{@layout.subject(place(row.key))} grows like a leak, #{@layout.bytes(row.slope, sign: true)} an hour, but " \
        "major GCs were too few to tell it from garbage that waits for one. A longer series tells, or a GC.start now and then."
    end

    def title(text) = @style ? @style.title(text) : text

    def time(moment) = moment.time.utc.strftime("%FT%TZ")

    def rate(trend)
      {"bytes" => trend.whole.space, "bytes_per_hour" => trend.slope, "bytes_per_hour_interval" => trend.slope_interval,
       "samples" => trend.whole.samples}
    end

    def figures_of(row)
      place = place(row.key)
      name = place.is_a?(Place) ? {"path" => place.path, "line" => place.line, "label" => place.label} : {"name" => place}
      {**name, "verdict" => row.verdict.to_s, **rate(row.trend), "memory" => row.kind.to_s, "bytes_now" => row.cohort.at(cohorts.size, row.kind).space,
       "untouched_bytes_now" => row.cohort.untouched(cohorts.size, row.kind),
       "odds" => row.odds, "pace" => row.trend.pace,
       "classes" => row.cohort.classes.first(CLASSES).map { |class_name, space| {"name" => class_name, "bytes" => space} },
       "stack" => frames_of(row).map(&:to_s)}
    end
  end
end
