# frozen_string_literal: true

module HeapSample
  # The part of a report that says who holds free memory in heap pages, and which
  # memory of a forked process is not shared with its parent any more.
  #
  # A heap page can be given back when nothing lives on it.  Its free slots are
  # charged to what lives there, in equal parts, so that of a page with one
  # survivor the line that made the survivor holds all.
  class HeapPages
    LINES = 5

    def initialize(profile, layout, top)
      @profile = profile
      @layout = layout
      @rows = [top, LINES].min
    end

    # Lines of text; none where there is little to tell.
    def lines = [*free, *unshared]

    # What pins the objects that hold free memory, where they hold much: lines of text.
    def pins = much_pinned { |list| Pins.lines(list, @layout) }

    # The same as a sentence.
    def pins_sentence = much_pinned { |list| @layout.sentence(Pins.sentence(list, @layout)) }

    # What pins, or where a profile does not say it, how to ask: lines of text.
    def pins_or_why_not
      pinned = @profile.filtered ? 0 : @profile.table.sum { |row| row[Columns::HOLDS_FREE_PINNED] }
      return [] unless much?(pinned)
      return pins if @profile.info.walk && !@profile.info.walk.refused

      @layout.sentence("What pins #{@layout.bytes(pinned)} of it, a walk over the heap tells: GC.sample_profile(why: true), or heapsample top --value holds_free PID.")
    end

    # JSON-ready; empty where nothing of it is known.
    def to_h
      {held_free_bytes: info.held_bytes, compact_bytes: info.compact_bytes,
       pins: (@profile.info.walk&.pins&.map(&:to_h) unless @profile.filtered),
       holds_free: (top(:holds_free).to_h unless info.held_bytes.nil? && top(:holds_free).total.zero?),
       inherited: info.inherited_pages, inherited_missing: info.inherited_missing, unshared: (top(:unshared).to_h if info.inherited_pages)}.compact
    end

    # The groups by one of Value::SHARES: a HeapSample::Top.
    def top(value)
      (@tops ||= {})[value] ||= Top.new(@profile, by: :line, value: value, top: @rows)
    end

    private

    # What the block makes of the pins, where these hold much.
    def much_pinned
      list = @profile.filtered ? [] : @profile.info.walk&.pins || []
      much?(list.sum { |pin| pin.estimate.space }) ? yield(list) : []
    end

    def info = @profile.info

    # Does it matter, beside the memory of the process?
    def much?(bytes) = bytes >= [AccountGrowth::FLOOR, AccountGrowth::SHARE * (info.account&.rss || 0)].max

    def free
      held = top(:holds_free).total
      return [] unless much?(held.space)

      [*@layout.title("Free memory of heap pages, by the lines that hold it: #{@layout.size(held)} #{@layout.bracketed(held)}"),
       *table(:holds_free), *compact, *pins_or_why_not]
    end

    def compact
      bytes = info.compact_bytes or return []

      @layout.sentence("At the last major GC #{@layout.bytes(info.held_bytes)} were free on heap pages on which something lives. " \
                       "GC.compact could empty #{@layout.bytes(bytes)} of pages at most; what is pinned cannot be moved.")
    end

    def unshared
      inherited = info.inherited_pages
      return missing unless inherited
      return [] unless much?(inherited[:unshared])

      share = @layout.percent(inherited[:unshared] / inherited[:bytes].to_f)
      [*@layout.title("Shared with the parent at the fork, and not any more: #{@layout.bytes(inherited[:unshared])} of " \
                      "#{@layout.bytes(inherited[:bytes])} of heap pages (#{share}); the slots in use on them, by line:"), *table(:unshared)]
    end

    def missing
      info.inherited_missing ? @layout.sentence("What this process still shares with its parent is not known: #{info.inherited_missing}.") : []
    end

    def table(value) = TopText.new(top(value), @layout).table(notes: false)
  end
end
