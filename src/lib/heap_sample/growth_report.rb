# frozen_string_literal: true

module HeapSample
  # A difference of two profiles as text: what grew, what shrank, and a sentence
  # that reads it.  Units and marks are Report's.
  class GrowthReport
    SHRUNK = 5
    # Seconds between two profiles from which on a rate is more than a curiosity.
    RATE_FROM = 10

    # The arguments of Report.new.
    def initialize(growth, by: :line, kind: :both, top: Top::ROWS, width: Layout::WIDTH, root: Dir.pwd)
      Layout.check(top: top, width: width)
      @kind = kind
      @growth = growth
      @by = by
      @top = top
      @layout = Layout.new(width: width, root: root)
      @groups = growth.groups(by, kind: kind)
      @total = @groups.each_with_object(GrowthGroup.new(nil)) { |group, sum| sum.merge(group) }
    end

    def to_s
      sections = [head, table("Grown", @groups.select { |group| group.space >= 1 }, @top),
                  table("Shrunk", @groups.select { |group| group.space <= -1 }, [SHRUNK, @top].min), account, [conclusion]]
      "#{sections.reject(&:empty?).map { |lines| lines.join("\n") }.join("\n\n")}\n"
    end

    private

    def head
      lines = ["Growth of what is in use#{Value::KINDS.fetch(@kind)}#{span}: #{amount(@total)}"]
      lines << unmatched unless @growth.matched?
      lines << "Malloc was sampled for one of the two profiles only: it is left out." if @growth.malloc_left_out?
      if @growth.gcs == 0 && @kind != :malloc
        lines << "No GC ran in between: which objects are in use is what the same mark found, and cannot have changed."
      end
      lines
    end

    # Where the memory of the process is, and what it grew in.
    def account
      later, earlier = @growth.later.info.account, @growth.earlier.info.account
      return [] unless later && earlier

      since = "between the two profiles"
      [*later.lines(@layout, earlier, since),
       Verdict.new(later, earlier, malloc: Verdict.malloc_growth(@growth), since: since, layout: @layout).to_s]
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

    def table(title, groups, top)
      return [] if groups.empty?

      sides = @growth.matched? ? %w[gained lost] : %w[later earlier]
      columns = ["", "bytes", "95% interval", "objects", *sides, "samples"].map { |name| [name, :right] }
      columns << ["class", :left] unless @by == :class
      shown = groups.sort_by.with_index { |group, index| [-group.space.abs, index] }.first(top)
      rows = shown.each_with_index.map { |group, index| cells(group, index) }
      more = groups.size - rows.size
      ["#{title}, by #{@by}:", *@layout.table([*columns, [@by.to_s, :left]], rows),
       *("and #{@layout.count(more)} more" if more > 0),
       *("#{Layout::WEAK_MARK} fewer than #{Estimate::WEAK_BELOW} samples: weak" if shown.any?(&:weak?))]
    end

    def cells(group, index)
      names = group.classes.map { |name, _| name.empty? ? "(unknown)" : name }
      [
        "#{Layout::WEAK_MARK if group.weak?}#{index + 1}", @layout.bytes(group.space, sign: true), interval(group),
        @layout.count(group.objects), @layout.bytes(group.gained.space), @layout.bytes(group.lost.space),
        @layout.count(group.samples),
        *("#{names.first}#{" +#{names.size - 1}" if names.size > 1}" unless @by == :class), group.key
      ]
    end

    def interval(net)
      return "exact" if net.exact?

      low, high = net.space_interval
      @layout.range(low, high, sign: true)
    end

    def amount(net)
      return "nothing changed" if net.zero?

      "#{@layout.bytes(net.space, sign: true)} (#{interval(net)}) in #{@layout.count(net.objects)} objects"
    end

    def conclusion
      group = @groups.select { |candidate| candidate.space > 0 && candidate.significant? }.max_by(&:space)
      return "Nothing grew by more than sampling alone explains." unless group

      name, = group.classes.first
      mostly = @by == :class ? "" : ", mostly `#{name}`"
      "The largest growth: #{@layout.subject(group.key)} #{amount(group)}#{mostly}#{rate(group)}."
    end

    def rate(group)
      seconds = @growth.seconds
      return "" unless @growth.same_run? && seconds && seconds >= RATE_FROM

      "; at this rate #{@layout.bytes(group.space * 3600 / seconds)} an hour"
    end
  end
end
