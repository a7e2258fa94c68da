# frozen_string_literal: true

module HeapSample
  # Groups of rows, ranked by one value: the main table of a report.
  #
  #   top = profile.top(by: :class, value: :inuse_objects)
  #   puts top
  #   top.first.key        #=> "String"
  #   top.first.interval   #=> [1210344.2, 1411522.9]
  class Top
    include Enumerable
    include Analysis

    ROWS = 20

    # One group and its rank.
    class Row
      # From 1.
      attr_reader :rank
      # All that is known of the group: a HeapSample::Group.
      attr_reader :group
      # The HeapSample::Estimate behind the value.
      attr_reader :estimate
      # Bytes or objects, estimated.
      attr_reader :value
      # Part of the value of all rows, shown or not; nil if that is 0.
      attr_reader :share

      def initialize(rank, group, ranked_by, total) # :nodoc:
        @rank = rank
        @group = group
        @ranked_by = ranked_by
        @estimate = ranked_by.estimate(group)
        @value = ranked_by.number(@estimate)
        @share = value / total.to_f if total > 0
      end

      # A HeapSample::Place, or the name of a class, type, gem, function or library.
      def key = group.key

      # The 95% interval of the value, [low, high]; nil if it is not known.
      def interval
        @interval ||= @ranked_by.interval(estimate)
      end

      # Samples behind it; 0 if not known.
      def samples = estimate.samples

      # Too few samples to rely on?
      def weak? = estimate.weak?

      def inspect
        "#<#{self.class} #{rank} #{Layout.new.place(key)} #{value.round} #{@ranked_by.unit}, #{samples} samples>"
      end
    end

    # The HeapSample::Value that ranks.
    attr_reader :value
    # All rows summed: a HeapSample::Estimate.
    attr_reader :total

    # call-seq:
    #   Top.new(profile, by: :line, value: nil, kind: :both, top: 20, width: 120, root: Dir.pwd, style: nil)
    #
    # +by+: one of Groups::KINDS; +value+: one of Value::NAMES, by default
    # inuse_space or, before the first mark, young_space; +kind+: :slots, :malloc
    # or :both; +top+: rows; +width+: characters in a line; +root+: paths below it
    # are shortened; +style+: see Layout.  Raises ArgumentError if one of them makes
    # no sense.
    def initialize(profile, by: :line, value: nil, kind: :both, top: ROWS, width: Layout::WIDTH, root: Dir.pwd, style: nil)
      Layout.check(top: top)
      @layout = Layout.new(width: width, root: root, style: style)
      @profile = profile
      @by = by
      @top = top
      @value = Value.of(value || Top.default(profile, kind), kind)
      @groups = profile.groups(by, kind: @value.kind)
      @total = @value.estimate(@groups.total)
    end

    # What is ranked by if nobody says so.
    def self.default(profile, kind)
      wanted = Groups.wanted(kind)
      young = false
      profile.table.each do |row|
        next unless wanted.nil? || row[Columns::MALLOC] == wanted
        return :inuse_space if row[Columns::INUSE_SPACE] > 0

        young ||= row[Columns::YOUNG_SPACE] > 0
      end
      young ? :young_space : :inuse_space
    end

    # Yields HeapSample::Top::Row, the largest first, at most +top+.
    def each(&block)
      rows.each(&block)
    end

    # How many groups there are in all.
    def count_all
      @count_all ||= @groups.count { |group| number(group) > 0 }
    end

    def to_s
      @layout.text([Header.part(@profile, @layout), lines])
    end

    # Title and table, as Strings.
    def lines(top = @top)
      [*@layout.title(title), *(table(top) unless @total.zero?)]
    end

    # Lines of the table, with what it leaves out and the meaning of its marks;
    # without them if not +notes+.
    def table(top = @top, notes: true)
      shown = rows.first(top)
      cells = shown.map { |row| columns.map { |column| cell(column, row) } << row.key }
      lines = @layout.table([*columns.map { |column| COLUMNS.fetch(column) }, [@by.to_s, :left]], cells,
                            shown.map { |row| :weak if row.weak? })
      return lines unless notes

      [*lines, *@layout.more(count_all - shown.size), *@layout.legend(shown.any?(&:weak?))]
    end

    # "In use (found alive by the last completed mark), by line: 38.2 MiB …".
    def title
      "#{value.title(@profile)}, by #{@by}#{", in objects" if objects?}: #{amount}"
    end

    # JSON-ready: numbers not rounded, intervals as [low, high].
    def to_h
      {by: @by, value: value.name, kind: value.kind, unit: value.unit, filter: @profile.filtered&.names,
       total: @total.to_h.merge(value: value.number(@total), interval: value.interval(@total)),
       rows_in_all: count_all, rows: rows.map { |row| row_to_h(row) }}.compact
    end

    # Title and side of each column, and the order in which a narrow table loses it.
    COLUMNS = {
      rank: ["", :right], bytes: ["bytes", :right], objects: ["objects", :right, 4], interval: ["95% interval", :right, 8],
      resident: ["resident", :right, 6], slots: ["slots", :right, 2], malloc: ["malloc", :right, 2], buffers: ["with buffers", :right, 2],
      samples: ["samples", :right, 5], share: ["share", :right, 7], age: ["age", :right, 1],
      dead: ["dead", :right, 6], dead_interval: ["95% interval", :right, 3], lived: ["lived", :right, 3], class: ["class", :left, 3]
    }.freeze
    private_constant :COLUMNS

    private

    def rows
      @rows ||= @groups.ranked(@top) { |group| number(group) }
                       .each_with_index.map { |group, index| Row.new(index + 1, group, value, value.number(@total)) }
    end

    def number(group)
      estimate = value.estimate(group)
      estimate.zero? ? 0 : value.number(estimate)
    end

    def summary
      "#{value.name} by #{@by}, #{rows.size} of #{count_all} rows, #{amount}"
    end

    def objects? = value.measure == :objects

    def amount = value.amount(@total, @layout)

    def columns
      @columns ||= [
        :rank, *(objects? ? %i[objects interval bytes] : %i[bytes interval]), *(:resident if untouched?), *(%i[slots malloc] if sides?),
        *(:buffers if buffers?), *(:objects unless objects?), :samples, :share, *extra, *(:class if classes?)
      ]
    end

    def extra
      {inuse: [:age], young: [], alloc: %i[dead dead_interval lived], dead: [:lived]}.fetch(value.part)
    end

    # Are there columns of slots and of malloc?  A class or a function is of one.
    def sides?
      @profile.malloc? && value.kind == :both && value.part == :inuse && !objects? && !value.resident? &&
        !%i[class type function library].include?(@by)
    end

    # Has a row memory that nobody has touched?
    def untouched? = rows.any? { |row| row.estimate.untouched? }

    # What objects hold outside their slots is told by class: by line it would be
    # taken for malloc's part of that line, which may be another's.
    def buffers?
      @by == :class && value.part == :inuse && @profile.info.memsize? && !value.memsize? && !objects?
    end

    def classes?
      @by != :class && value.kind != :malloc && %i[inuse young].include?(value.part)
    end

    def cell(column, row)
      group, estimate = row.group, row.estimate
      case column
      when :rank then @layout.rank(row.rank, row.weak?)
      when :bytes then @layout.bytes(estimate.space)
      when :objects then @layout.count(estimate.objects)
      when :interval then value.interval_text(estimate, @layout)
      when :resident then @layout.bytes(estimate.resident.space)
      when :slots then part(group.slots_space)
      when :malloc then part(group.malloc.space)
      when :buffers then part(group.memsize)
      when :samples then estimate.samples > 0 ? @layout.count(estimate.samples) : Layout::NOTHING
      when :share then row.share ? @layout.percent(row.share) : Layout::NOTHING
      when :age then mean(group.age(@profile.info.gc_count))
      when :dead then group.dead_share ? @layout.percent(group.dead_share) : Layout::NOTHING
      when :dead_interval then group.dead_interval ? @layout.percents(*group.dead_interval) : Layout::NOTHING
      when :lived then mean(group.lifetime)
      when :class then ClassMix.new(@profile, group, @layout).column
      end
    end

    def part(space) = space > 0 ? @layout.bytes(space) : Layout::NOTHING
    def mean(gcs) = gcs ? format("%.1f", gcs) : Layout::NOTHING

    def row_to_h(row)
      group = row.group
      {
        rank: row.rank, **Analysis.key(row.key, @layout), value: row.value, interval: row.interval, share: row.share,
        **row.estimate.to_h,
        slots_bytes: (group.slots_space if value.part == :inuse), malloc_bytes: (group.malloc.space if value.part == :inuse),
        memsize_bytes: (group.memsize if @profile.info.memsize? && value.part == :inuse),
        age_gcs: group.age(@profile.info.gc_count), dead_share: group.dead_share, dead_share_interval: group.dead_interval, lived_gcs: group.lifetime,
        classes: group.classes.first(BRIEF).map { |reference, bytes| {class: @profile.text(reference), bytes: bytes} }
      }.compact
    end
  end
end
