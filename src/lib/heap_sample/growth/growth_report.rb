# frozen_string_literal: true

module HeapSample
  # A difference of two profiles as text: what grew, what shrank, what changed no
  # more than sampling explains, and a sentence that reads it.  Units and marks are
  # Report's.
  class GrowthReport
    include Analysis

    # Rows of the tables beside what grew.
    OTHERS = 5
    # Seconds between two profiles from which on a rate is more than a curiosity.
    RATE_FROM = 10

    TITLES = {grown: "Grown", shrunk: "Shrunk", noise: "Within noise (no more than sampling explains in so many rows)"}.freeze

    # The arguments of Report.new.
    def initialize(growth, by: :line, kind: :both, top: Top::ROWS, width: Layout::WIDTH, root: Dir.pwd, style: nil)
      Layout.check(top: top)
      @kind = kind
      @growth = growth
      @by = by
      @top = top
      @layout = Layout.new(width: width, root: root, style: style)
      groups = growth.groups(by, kind: kind)
      @total = groups.each_with_object(GrowthGroup.new(nil)) { |group, sum| sum.merge(group) }
      @tables = sorted(groups)
    end

    def to_s
      @layout.text([head, *TITLES.keys.map { |change| table(change, rows(change)) }, account, conclusion])
    end

    # The first line and the table of what grew, at most +top+ rows.
    def lines(top = @top)
      [*@layout.title(title), *table(:grown, top)]
    end

    # JSON-ready: numbers not rounded, intervals as [low, high].  +change+ of a row is
    # "grown", "shrunk" or "noise".
    def to_h
      {
        by: @by, kind: @kind, filter: @growth.later.filtered&.names, seconds: @growth.seconds, gcs: @growth.gcs,
        same_run: @growth.same_run?, matched: @growth.matched?, malloc_left_out: @growth.malloc_left_out?,
        total: net_to_h(@total), rows_in_all: @tables.transform_values(&:size),
        rows: TITLES.keys.flat_map { |change| @tables[change].first(rows(change)).map { |group| group_to_h(group, change) } },
        **account_to_h
      }.compact
    end

    private

    def summary = title

    # Change => groups, the largest first.
    def sorted(groups)
      changes = @growth.changes(groups)
      all = groups.reject { |group| group.space.abs < 1 && group.gained.space < 1 }
                  .sort_by.with_index { |group, index| [-group.space.abs, index] }.group_by { |group| changes[group] }
      TITLES.to_h { |change, _| [change, all[change] || []] }
    end

    # Where nothing grew, what is within noise is all there is to see.
    def rows(change)
      change == :grown || change == :noise && @tables[:grown].empty? && @tables[:shrunk].empty? ? @top : [OTHERS, @top].min
    end

    def title
      "Growth of what is in use#{Value::KINDS.fetch(@kind)}#{span}: #{amount(@total)}"
    end

    def head
      lines = []
      lines << unmatched unless @growth.matched?
      lines << "Malloc was sampled for one of the two profiles only: it is left out." if @growth.malloc_left_out?
      if @growth.gcs == 0 && @kind != :malloc
        lines << "No GC ran in between: which objects are in use is what the same mark found, and cannot have changed."
      end
      [*@layout.title(title), *lines.flat_map { |line| @layout.sentence(line) }, *Header.part(@growth.later, @layout)]
    end

    # Where the memory of the process is, and what it grew in.
    def account
      later, earlier = @growth.later.info.account, @growth.earlier.info.account
      return [] unless account?

      [*later.lines(@layout, earlier, SINCE), *@layout.sentence(verdict.to_s)]
    end

    SINCE = "between the two profiles"

    def account?
      @growth.later.info.account && @growth.earlier.info.account && !@growth.later.filtered
    end

    def verdict
      Verdict.new(@growth.later.info.account, @growth.earlier.info.account, malloc: Verdict.malloc_growth(@growth),
                                                                           since: SINCE, layout: @layout)
    end

    def account_to_h
      return {} unless account?

      {account: @growth.later.info.account.to_h, account_earlier: @growth.earlier.info.account.to_h, verdict: verdict.to_s}
    end

    def span
      parts = []
      parts << @layout.duration(@growth.seconds) if @growth.seconds && @growth.seconds >= 0
      parts << "#{@layout.count(@growth.gcs)} GC#{"s" unless @growth.gcs == 1}" if @growth.gcs
      parts.empty? ? "" : " over #{parts.join(", ")}"
    end

    def unmatched
      why = @growth.same_run? ? "The sampling interval changed in between" : "The profiles are not of one session of one process"
      "#{why}: totals are compared, and the errors of both add."
    end

    def table(change, top)
      groups = @tables[change]
      return [] if groups.empty?

      sides = @growth.matched? ? %w[gained lost] : %w[later earlier]
      resident = untouched?(groups.first(top))
      columns = [["", :right], ["bytes", :right], ["95% interval", :right, 7], *([["resident", :right, 6]] if resident), ["objects", :right, 2],
                 *sides.map { |name| [name, :right, 4] }, ["samples", :right, 3]]
      columns << ["class", :left, 1] unless @by == :class
      shown = groups.first(top)
      styles = shown.map { |group| group.weak? || change == :noise ? :weak : change }
      [*@layout.title("#{TITLES[change]}, by #{@by}:"),
       *@layout.table([*columns, [@by.to_s, :left]], shown.each_with_index.map { |group, index| cells(group, index, resident) }, styles),
       *@layout.more(groups.size - shown.size), *@layout.legend(shown.any?(&:weak?))]
    end

    # Has one of them memory that nobody has touched?
    def untouched?(groups) = groups.any?(&:untouched?)

    def cells(group, index, resident)
      [
        @layout.rank(index + 1, group.weak?), @layout.bytes(group.space, sign: true), interval(group),
        *(@layout.bytes(group.resident_space, sign: true) if resident), @layout.count(group.objects), @layout.bytes(group.gained.space), @layout.bytes(group.lost.space),
        @layout.count(group.samples), *(ClassMix.first_of(group.classes, @layout) unless @by == :class), group.key
      ]
    end

    # Without samples on either side the profiles do not tell their errors.
    def interval(net)
      return "exact" if net.exact?
      return "?" if net.samples.zero?

      low, high = net.space_interval
      @layout.range(low, high, sign: true)
    end

    def amount(net)
      return "nothing changed" if net.zero?

      resident = ", #{@layout.bytes(net.resident_space, sign: true)} of it resident," if net.untouched?
      "#{@layout.bytes(net.space, sign: true)} (#{interval(net)})#{resident} in #{@layout.count(net.objects)} objects"
    end

    def conclusion
      group = @tables[:grown].first
      return @layout.sentence("Nothing grew by more than sampling alone explains.") unless group

      name, = group.classes.first
      mostly = @by == :class ? "" : ", mostly #{ClassMix.mostly(name, @layout)}"
      @layout.sentence("The largest growth: #{@layout.subject(group.key)} #{amount(group)}#{mostly}#{rate(group)}.")
    end

    # What was never touched fills no memory.
    def rate(group)
      per_hour = per_hour(group.resident_space)
      per_hour ? "; at this rate #{@layout.bytes(per_hour)}#{" of resident memory" if group.untouched?} an hour" : ""
    end

    def per_hour(bytes)
      seconds = @growth.seconds
      bytes * 3600 / seconds.to_f if @growth.same_run? && seconds && seconds >= RATE_FROM
    end

    def net_to_h(net)
      limits = net.samples.zero? ? nil : net.space_interval
      {**net.to_h, bytes_interval: limits, bytes_per_hour: per_hour(net.space),
       bytes_per_hour_interval: (limits.map { |limit| per_hour(limit) } if limits && per_hour(0))}
    end

    def group_to_h(group, change)
      {**Analysis.key(group.key, @layout), change: change, **net_to_h(group),
       classes: group.classes.first(BRIEF).map { |name, bytes| {class: name, bytes: bytes} }}
    end
  end
end
