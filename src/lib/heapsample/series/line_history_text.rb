# frozen_string_literal: true
# shareable_constant_value: literal

module HeapSample
  # A LineHistory as text.
  class LineHistoryText
    COLUMNS = [["time", :right], ["live", :right], ["95% interval", :right, 3], ["objects", :right, 4], ["allocated", :right, 1], ["freed", :right, 1], ["", :left]]
    PLOT = "live "
    BAR = 10
    EIGHTHS = GenerationsText::EIGHTHS
    private_constant :COLUMNS

    def initialize(history, layout)
      @history = history
      @layout = layout
    end

    def to_s
      @layout.text([head, plot, table, conclusion])
    end

    def lines(top = @history.rows) = [*plot, *table(top)]

    def summary = "#{@layout.place(@history.place)}, #{@layout.amount(moments.last.inuse)}"

    private

    def head
      [*@layout.title(@layout.place(@history.place, @layout.width)), *@layout.sentence("#{series.describe}#{memory}"), *warnings]
    end

    def series = @history.series
    def moments = @history.moments
    def memory = Value::MEMORY_TITLES.fetch(@history.kind)
    def warnings = series.warnings.flat_map { |warning| @layout.sentence("Warning: #{warning}") }
    def most = moments.map { |moment| moment.inuse.space }.max

    # All profiles, from nothing on.
    def plot
      return [] unless most > 0

      limits = "  0 B – #{@layout.bytes(most)}"
      sizes = moments.map { |moment| moment.inuse.space }
      ["#{PLOT}#{Plot.bars(sizes, most, [@layout.width - PLOT.length - limits.length, 1].max, least: 0)}#{limits}"]
    end

    # At most +top+ of the profiles, at equal distances. Allocated and freed memory is since the row before.
    def table(top = @history.rows)
      shown = shown(top)
      cells = shown.each_with_index.map { |moment, index| cells(moment, index > 0 ? shown[index - 1] : nil) }
      left_out = moments.size - shown.size
      [*@layout.table(COLUMNS, cells, shown.map { |moment| :weak if moment.inuse.weak? }),
       *(["#{@layout.count(left_out)} profiles in between are not shown"] if left_out > 0), *@layout.legend(shown.any? { |moment| weak?(moment) })]
    end

    def shown(top)
      return moments if moments.size <= top
      return moments.last(1) if top == 1

      Array.new(top) { |index| moments[index * (moments.size - 1) / (top - 1)] }
    end

    def weak?(moment) = moment.inuse.samples > 0 && moment.inuse.weak?

    def cells(moment, before)
      inuse = moment.inuse
      ["#{Layout::WEAK_MARK if weak?(moment)}#{time(moment)}", @layout.size(inuse), inuse.zero? ? Layout::NOTHING : @layout.interval(inuse), @layout.count(inuse.objects),
       since(moment.allocated, before&.allocated), since(moment.freed, before&.freed), ->(_) { bar(inuse.space) }]
    end

    # With the day where there are several.
    def time(moment)
      @days ||= moments.map { |one| one.time.utc.strftime("%F") }.uniq.size
      moment.time.utc.strftime(@days > 1 ? "%m-%d %H:%M" : "%H:%M:%S")
    end

    def since(now, before)
      before ? @layout.bytes([now.space - before.space, 0].max) : Layout::NOTHING
    end

    def bar(space)
      eighths = most > 0 ? (space * BAR * 8 / most).round : 0
      "#{"█" * (eighths / 8)}#{EIGHTHS[eighths % 8]}"
    end

    def conclusion
      last = moments.last
      now = "Live now: #{@layout.amount(last.inuse)}."
      still = " Of the memory allocated there since sampling started, #{@layout.percent(@history.still)} is not freed." if @history.still
      @layout.sentence("#{now}#{change}#{still}#{AwaitsMajor.of_row(last.group.awaiting, last.inuse.space)}")
    end

    def change
      net = @history.growth
      return "" if moments.size < 2
      return " Nothing changed since the first profile." if net.zero?

      bytes, interval = net.exact? || net.samples.zero? ? [@layout.bytes(net.space, sign: true), "exact"] : @layout.figure(net.space, net.space_interval, sign: true)
      " Since the first profile: #{bytes} (#{interval}) in #{@layout.duration(series.seconds)}."
    end
  end
end
