# frozen_string_literal: true

module HeapSample
  # What was allocated since sampling started and how much of it is dead: which
  # code makes garbage, and how long that lives.
  #
  #   profile.churn(by: :method).first.group.dead_share   #=> 0.946
  #
  # Slots and blocks of malloc count alike: a slot is dead when a GC has found it so, a
  # block when it is freed.  Files of format 2 tell no deaths of blocks: there shares of
  # the dead are of slots, and what was allocated is that of slots unless the allocator
  # kept count (see Meta#malloc_alloc_known?).
  class Churn
    include Enumerable
    include Analysis

    # The arguments of Top.new but +value+.
    def initialize(profile, by: :line, kind: :both, top: Top::ROWS, width: Layout::WIDTH, root: Dir.pwd, style: nil)
      @profile = profile
      @top = Top.new(profile, by: by, value: :alloc_space, kind: kind, top: top, width: width, root: root, style: style)
      @layout = Layout.new(width: width, root: root, style: style)
      @total = profile.groups(by, kind: kind).total
    end

    # Yields HeapSample::Top::Row, the largest allocators first.
    def each(&block)
      @top.each(&block)
    end

    # All that was allocated: a HeapSample::Estimate.
    def total = @total.alloc

    # Part of it that was found dead, by bytes, and its 95% interval; nil if nothing was
    # allocated.
    def dead_share = @total.dead_share
    def dead_interval = @total.dead_interval

    # Bytes a second since sampling started; nil if the profile does not tell.
    def rate
      taken, started = @profile.info.taken, @profile.info.started
      total.space / (taken - started) if taken && started && taken > started
    end

    def to_s
      @layout.text([Header.part(@profile, @layout), lines, conclusion])
    end

    # Title and table with at most +top+ rows.
    def lines(top = nil)
      return @layout.title(@top.title) if total.zero?

      [*@layout.title(@top.title), *@layout.sentence(whole), *(top ? @top.table(top) : @top.table)]
    end

    # The same without remarks, as a part of a report; none if there is nothing.
    def section(top)
      total.zero? ? [] : [*@layout.title(@top.title), *@top.table(top, notes: false)]
    end

    def to_h
      {**@top.to_h, dead_share: dead_share, dead_share_interval: dead_interval, lived_gcs: @total.lifetime,
       bytes_per_second: rate}.compact
    end

    private

    def summary = @top.title

    def whole
      parts = []
      parts << "#{@layout.bytes(rate)} a second" if rate
      parts << "#{dead(@total)} found dead#{lived(@total)}" if dead_share
      parts.empty? ? "" : "#{parts.join("; ")}."
    end

    def dead(group)
      low, high = group.dead_interval
      return @layout.percent(group.dead_share) unless low

      "#{@layout.percent(group.dead_share)} (#{@layout.percents(low, high)})"
    end

    def lived(group)
      group.lifetime ? format(", after %.1f GCs on average", group.lifetime) : ""
    end

    def conclusion
      row = first
      return [] unless row

      found = " #{dead(row.group)} of it was found dead#{lived(row.group)}." if row.group.dead_share
      weak = " Too few samples to rely on." if row.weak?
      @layout.sentence("The most: #{@layout.subject(row.key)} allocated #{@layout.bytes(row.value)} " \
                       "#{@layout.bracketed(row.estimate)}, #{@layout.share(row.value, total.space)} of all.#{found}#{weak}")
    end
  end
end
