# frozen_string_literal: true
# shareable_constant_value: literal

module HeapSample
  # A Retained as text.
  class RetainedText
    # Columns of several processes' profiles.
    SIDES = [["first", :right, 3], ["second", :right, 4], ["the smaller", :right, 2]]

    def initialize(retained, layout)
      @retained = retained
      @layout = layout
    end

    def to_s
      @layout.text([head, table, conclusion])
    end

    # Title and table.
    def lines(count = nil)
      [*@layout.title(title), *table(count)]
    end

    def summary = "by #{@retained.by}, #{@retained.rows.size} rows, #{amount(@retained.total)}"

    private

    def title
      "Retained: allocated after the first profile, live in the second, and still live in the third#{Value::MEMORY_TITLES.fetch(@retained.kind)}: " \
        "#{amount(@retained.total)}"
    end

    def amount(row)
      return "nothing" unless row.value > 0
      return "at least #{@layout.bytes(row.value)} in #{@layout.count(row.stayed.objects)} objects, #{@layout.count(row.samples)} samples" if row.bound?
      return @layout.amount(row.stayed) if row.less.zero?

      "#{figure(row)[0]} (#{figure(row)[1]})"
    end

    # Bytes and their interval.
    def figure(row)
      return ["≥ #{@layout.bytes(row.value)}", "not known"] if row.bound?
      return [@layout.size(row.stayed), @layout.interval(row.stayed)] if row.less.zero?

      row.interval ? @layout.figure(row.value, row.interval, sign: true) : [@layout.bytes(row.value), "?"]
    end

    def head
      lines = [(spans unless @retained.identified), @retained.identified]
      if @retained.one_process?
        lines << whole if @retained.total.share
        lines << "No GC ran between two of the profiles, so both have the same live objects." if !@retained.gcs_between? && @retained.kind != :malloc
        lines << malloc_note if malloc_rows?
        lines << AwaitsMajor.sentence(@retained.profiles.last.info, @layout, @retained.total.awaiting, @retained.total.stayed.space, "the retained memory")
      elsif @retained.identified
        lines << "Rows show what both later dumps have more than the first."
      else
        lines << "The profiles are not of one session of one process. Rows show what both later profiles have more than the first, " \
                 "beyond sampling noise."
      end
      lines << "Malloc memory is left out: the three profiles did not sample it in the same way." if @retained.malloc_left_out? && @retained.kind != :slots
      [*@layout.title(title), *lines.compact.flat_map { |line| @layout.sentence(line) }, *Header.part(@retained.profiles[0], @layout)]
    end

    # What is not known of malloc: nil if that is nothing.
    def malloc_note
      "New malloc blocks look like the freed blocks that they replaced, so figures are lower bounds." unless @retained.gcs_between?
    end

    def malloc_rows?
      @retained.kind != :slots && !@retained.malloc_left_out? && @retained.profiles.any?(&:malloc?)
    end

    # "10 min 0 s, 10 GCs from the first to the second; …"
    def spans
      return unless @retained.one_process?

      %w[first second third].each_cons(2).zip(@retained.profiles.each_cons(2)).map do |(from, to), (earlier, later)|
        seconds = later.info.taken - earlier.info.taken if later.info.taken && earlier.info.taken
        gcs = later.info.gc_count - earlier.info.gc_count
        "#{[(@layout.duration(seconds) if seconds), "#{@layout.count(gcs)} GC#{"s" unless gcs == 1}"].compact.join(", ")} " \
          "from the #{from} to the #{to}"
      end.join("; ")
    end

    def whole
      total = @retained.total
      came = total.bound? ? "at most #{@layout.bytes(total.came.space)}" : "#{@layout.size(total.came)} #{@layout.bracketed(total.came)}"
      "Of #{came} allocated in between, #{share(total)} is still live."
    end

    def share(row)
      return "at least #{@layout.percent(row.share)}" if row.bound?

      limits = row.share_interval
      "#{@layout.percent(row.share)}#{" (#{@layout.percents(*limits)})" if limits && !@layout.counted?}"
    end

    def table(count = nil)
      shown = count ? @retained.first(count) : @retained.to_a
      return [] if shown.empty?

      cells = shown.each_with_index.map { |row, index| cells(row, index) }
      [*@layout.table(columns, cells, shown.map { |row| :weak if row.weak? }, shown.map { |row| @retained.application(row) }),
       *@layout.more(@retained.rows.size - shown.size), *@layout.legend(shown.any?(&:weak?)), *stacks(shown)]
    end

    def stacks(shown)
      @layout.stacks? ? StackText.section(shown.each_with_index.map { |row, index| [index + 1, @retained.came_by.frames(row.key)] }, @layout) : []
    end

    def columns
      sides = @retained.one_process? ? [["allocated", :right, 4], ["still live", :right, 3], ["95% interval", :right, 2]] : SIDES
      [["", :right], ["bytes", :right], ["95% interval", :right, 8], *sides, ["samples", :right, 5],
       *([["class", :left, 1, ClassMix::LEAST]] if classes?), [@retained.by.to_s, :left]]
    end

    def classes? = @retained.by != :class && @retained.one_process?

    def cells(row, index)
      sides = if @retained.one_process?
                [@layout.bytes(row.came.space), row.share ? "#{"≥ " if row.bound?}#{@layout.percent(row.share)}" : Layout::NOTHING,
                 row.share_interval ? @layout.percents(*row.share_interval) : Layout::NOTHING]
              else
                [row.less, row.came, row.stayed].map { |side| @layout.bytes(side.space) }
              end
      [@layout.rank(index + 1, row.weak?), *figure(row), *sides, @layout.count(row.samples),
       *(ClassMix.first_of(row.classes, @layout) if classes?), row.key]
    end

    def conclusion
      row = @retained.largest
      return @layout.sentence("No memory allocated after the first profile is known to be retained.") unless row

      still = ", #{share(row)} of what was allocated there" if row.share
      weak = " Too few samples to rely on." if row.weak?
      @layout.sentence("The largest: #{@layout.subject(row.key)} retains #{amount(row)}#{still}.#{weak}#{AwaitsMajor.of_row(row.awaiting, row.stayed.space)}")
    end
  end
end
