# frozen_string_literal: true
# shareable_constant_value: literal

module HeapSample
  # A Top as text.
  class TopText
    # Title and side of each column, and the order in which a narrow table loses it.
    COLUMNS = {
      rank: ["", :right], bytes: ["bytes", :right], objects: ["objects", :right, 4], interval: ["95% interval", :right, 8],
      resident: ["resident", :right, 6], slots: ["slots", :right, 2], malloc: ["malloc", :right, 2], buffers: ["with buffers", :right, 2],
      pinned: ["pinned", :right, 4], since_fork: ["since fork", :right, 4], samples: ["samples", :right, 5], share: ["share", :right, 7], age: ["age", :right, 1],
      freed: ["freed", :right, 6], freed_interval: ["95% interval", :right, 3], lifetime: ["lifetime", :right, 3], class: ["class", :left, 3, ClassMix::LEAST]
    }
    private_constant :COLUMNS

    def initialize(top, layout)
      @top = top
      @layout = layout
    end

    def to_s
      @layout.text([Header.part(@top.profile, @layout), lines, value.name == :holds_free ? pins : []])
    end

    # Title and table.
    def lines(count = nil)
      [*@layout.title(title), *awaiting, *(table(count) unless @top.total.zero?)]
    end

    # Lines of the table, with what it leaves out and the meaning of its marks;
    # without them if not +notes+.
    def table(count = nil, notes: true)
      shown = count ? @top.first(count) : @top.entries
      cells = shown.map { |entry| columns.map { |column| cell(column, entry) } << entry.key }
      lines = @layout.table([*columns.map { |column| COLUMNS.fetch(column) }, [@top.by.to_s, :left]], cells,
                            shown.map { |entry| :weak if entry.weak? }, shown.map { |entry| @top.application(entry) })
      lines.concat(@layout.more(@top.count_all - shown.size), @layout.legend(shown.any?(&:weak?))) if notes
      lines.concat(stacks(shown))
    end

    # "Live memory (objects that survived the last GC), by line: 38.2 MiB …".
    def title
      "#{value.title(@top.profile)}, by #{@top.by}#{", in objects" if objects?}: #{amount}"
    end

    def summary
      "#{value.name} by #{@top.by}, #{@top.entries.size} of #{@top.count_all} rows, #{amount}"
    end

    private

    def pins = HeapPagesText.new(HeapPages.new(@top.profile), @layout).pins_or_why_not

    def awaiting
      value.part == :inuse && !value.share? ? AwaitsMajor.lines(@top.profile, @layout, value.kind) : []
    end

    def stacks(shown)
      @layout.stacks? ? StackText.section(shown.map { |entry| [entry.rank, @top.came_by.frames(entry.key)] }, @layout) : []
    end

    def value = @top.value

    def objects? = value.measure == :objects

    def amount = value.amount(@top.total, @layout)

    def columns
      @columns ||= [
        :rank, *(objects? ? %i[objects interval bytes] : %i[bytes interval]), *(:resident if untouched?), *(%i[slots malloc] if sides?),
        *(:buffers if buffers?), *share, *(:objects unless objects?), :samples, :share, *extra, *(:class if classes?)
      ]
    end

    def extra
      {inuse: [:age], young: [], alloc: %i[freed freed_interval lifetime], freed: [:lifetime]}.fetch(value.part)
    end

    # That part of a share which matters most.
    def share = {holds_free: [:pinned], unshared: [:since_fork]}.fetch(value.name, [])

    # Are there columns of slots and of malloc?  A class or a function is of one.
    def sides?
      @top.profile.malloc? && value.kind == :both && value.part == :inuse && !objects? && !value.resident? && !value.share? &&
        !%i[class type function library].include?(@top.by)
    end

    # Has a row memory that was never touched?
    def untouched? = @top.any? { |entry| entry.estimate.untouched? }

    # What objects hold outside their slots is shown by class only. By line it would look
    # like the malloc memory of that line, which other lines may have allocated.
    def buffers?
      @top.by == :class && value.part == :inuse && @top.profile.info.memsize? && !value.memsize? && !objects?
    end

    def classes?
      @top.by != :class && value.kind != :malloc && %i[inuse young].include?(value.part)
    end

    def cell(column, entry)
      group, estimate = entry.group, entry.estimate
      case column
      when :rank then @layout.rank(entry.rank, entry.weak?)
      when :bytes then objects? || value.memsize? ? @layout.bytes(estimate.space) : @layout.size(estimate)
      when :objects then @layout.count(estimate.objects)
      when :interval then value.interval_text(estimate, @layout)
      when :resident then @layout.size(estimate, estimate.resident.space)
      when :slots then part(group.slots_space, estimate)
      when :malloc then part(group.malloc.space, estimate)
      when :buffers then part(group.memsize, estimate)
      when :pinned then part(group.holds_free_pinned, estimate)
      when :since_fork then part(group.unshared_allocated, estimate)
      when :samples then estimate.samples > 0 ? @layout.count(estimate.samples) : Layout::NOTHING
      when :share then entry.share ? @layout.percent(entry.share) : Layout::NOTHING
      when :age then mean(group.age(@top.profile.info.gc_count))
      when :freed then group.freed_share ? @layout.percent(group.freed_share) : Layout::NOTHING
      when :freed_interval then group.freed_interval ? @layout.percents(*group.freed_interval) : Layout::NOTHING
      when :lifetime then mean(group.lifetime)
      when :class then ClassMix.new(@top.profile, group, @layout).column
      end
    end

    def part(space, estimate) = space > 0 ? @layout.size(estimate, space) : Layout::NOTHING
    def mean(gcs) = gcs ? format("%.1f", gcs) : Layout::NOTHING
  end
end
