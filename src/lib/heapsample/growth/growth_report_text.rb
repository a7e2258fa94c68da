# frozen_string_literal: true

module HeapSample
  # A GrowthReport as text. Units and marks are Report's.
  class GrowthReportText
    TITLES = {grown: "Grown", shrunk: "Shrunk", noise: "Within noise (sampling alone explains it)"}.freeze
    UNCHANGED = "Unchanged"
    DUMPS = "The totals of two heap dumps are compared. They do not depend on addresses: GC.compact and slots that were used again change nothing."

    def initialize(report, layout)
      @report = report
      @layout = layout
    end

    def to_s
      @layout.text([head, *TITLES.keys.map { |change| table(change) }, account, alive, conclusion])
    end

    # The first line and the table of what grew, at most +count+ rows.
    def lines(count = nil)
      [*@layout.title(title), *table(:grown, count ? @report.tables[:grown].first(count) : @report.shown(:grown))]
    end

    def summary = title

    private

    def growth = @report.growth

    def title
      "Growth of live memory#{Value::MEMORY_TITLES.fetch(@report.kind)}#{span}: #{amount(@report.total)}"
    end

    def head
      lines = []
      lines << unmatched unless growth.matched?
      lines << moved
      lines << "Malloc memory is left out: only one of the two profiles sampled it." if growth.malloc_left_out?
      if growth.gcs == 0 && @report.kind != :malloc
        lines << "No GC ran in between, so the set of live objects cannot have changed."
      end
      lines << young
      lines << AwaitsMajor.sentence(growth.later.info, @layout, @report.total.awaiting, @report.total.gained.space, "the new memory")
      lines.compact!
      [*@layout.title(title), *lines.flat_map { |line| @layout.sentence(line) }, *Header.part(growth.later, @layout)]
    end

    # What the last GC has not looked at is in no row.
    def young
      return if @report.kind == :malloc || (young = growth.later.groups(:class).total.young).zero?

      "Not in the tables: #{@layout.amount(young)} allocated since the last GC. Some of it may be retained; GC.sample_profile(full_gc: true) shows it."
    end

    # Where the memory of the process is, and what it grew in.
    def account
      grew = @report.account_growth or return []

      [*AccountText.new(growth.later.info.account, @layout, earlier: growth.earlier.info.account, since: GrowthReport::SINCE).lines, *@layout.sentence(grew.to_s)]
    end

    # Of which threads and fibers there are more, or fewer.
    def alive
      later, earlier = growth.later.info.alive, growth.earlier.info.alive
      return [] if later.nil? || earlier.nil? || growth.later.filtered

      before = Alive::KINDS.keys.to_h { |kind| [kind, earlier[kind].count] }
      text = AliveText.new(later, @layout, before: before)
      [*text.lines, *text.changes(earlier)]
    end

    def span
      parts = []
      parts << @layout.duration(growth.seconds) if growth.seconds && growth.seconds >= 0
      parts << "#{@layout.count(growth.gcs)} GC#{"s" unless growth.gcs == 1}" if growth.gcs
      parts.empty? ? "" : " over #{parts.join(", ")}"
    end

    def unmatched
      return DUMPS if growth.later.info.dump? && growth.earlier.info.dump?

      why = growth.same_run? ? "The sampling interval changed in between" : "The profiles are not of one session of one process"
      "#{why}: totals are compared, and their errors add up."
    end

    # From one deploy, or one machine, to another.
    def moved
      changed = growth.moved.map { |what, (before, after)| "#{what} #{before} to #{what} #{after}" }
      "From #{changed.join(", ")}." unless changed.empty?
    end

    def table(change, shown = @report.shown(change))
      return [] if shown.empty?

      sides = growth.matched? ? %w[gained lost] : %w[later earlier]
      resident = untouched?(shown)
      columns = [["", :right], ["bytes", :right], ["95% interval", :right, 7], *([["resident", :right, 6]] if resident), ["objects", :right, 2],
                 *sides.map { |name| [name, :right, 4] }, ["samples", :right, 3]]
      columns << ["class", :left, 1, ClassMix::LEAST] unless @report.by == :class
      styles = shown.map { |group| group.weak? || change == :noise ? :weak : change }
      [*@layout.title("#{change == :noise && @layout.counted? ? UNCHANGED : TITLES[change]}, by #{@report.by}:"),
       *@layout.table([*columns, [@report.by.to_s, :left]], shown.each_with_index.map { |group, index| cells(group, index, resident) }, styles,
                      shown.map { |group| @report.application(group) }),
       *@layout.more(@report.tables[change].size - shown.size), *@layout.legend(shown.any?(&:weak?)), *stacks(shown)]
    end

    def stacks(shown)
      @layout.stacks? ? StackText.section(shown.each_with_index.map { |group, index| [index + 1, @report.came_by.frames(group.key)] }, @layout) : []
    end

    # Has one of them memory that was never touched?
    def untouched?(groups) = groups.any?(&:untouched?)

    def cells(group, index, resident)
      [
        @layout.rank(index + 1, group.weak?), *figure(group),
        *(@layout.bytes(group.resident_space, sign: true) if resident), @layout.count(group.objects), @layout.bytes(group.gained.space), @layout.bytes(group.lost.space),
        @layout.count(group.samples), *(ClassMix.first_of(group.classes, @layout) unless @report.by == :class), group.key
      ]
    end

    # Bytes and their interval. Without samples on either side the errors are not known.
    def figure(net)
      return @layout.figure(net.space, net.space_interval, sign: true) unless net.exact? || net.samples.zero?

      [@layout.bytes(net.space, sign: true), net.exact? ? "exact" : "?"]
    end

    def amount(net)
      return "nothing changed" if net.zero?

      resident = ", #{@layout.bytes(net.resident_space, sign: true)} of it resident," if net.untouched?
      bytes, interval = figure(net)
      "#{bytes} (#{interval})#{resident} in #{@layout.count(net.objects)} objects"
    end

    # What is counted has no error of sampling.
    def no_row_grew
      return "Nothing grew by more than sampling noise." if @report.more_alive.empty?

      "Nothing grew by more than sampling noise, except the number of #{@report.more_alive.join(" and ")}."
    end

    def conclusion
      group = @report.largest
      return @layout.sentence(no_row_grew) unless group

      name, = ClassMix.shown(group.classes).first
      mostly = @report.by == :class ? "" : ", mostly #{ClassMix.mostly(name, @layout)}"
      @layout.sentence("The largest growth: #{@layout.subject(group.key)} #{amount(group)}#{memory}#{mostly}.#{retained_by(group)}#{AwaitsMajor.of_row(group.awaiting, group.gained.space)}")
    end

    # What retains it, by a heap walk.
    def retained_by(group)
      holder = @report.holder(group) or return ""
      return "" if holder.share < LineHolders::SHARE_LEAST

      " #{holder.named? ? Printable.code(@layout.holder(holder)) : @layout.holder(holder)} retains #{@layout.percent(holder.share)} of it."
    end

    # Which memory a figure is of, where it is not of all.
    def memory = Value.part_of_all(growth.later, growth.malloc_left_out? ? :slots : @report.kind)
  end
end
