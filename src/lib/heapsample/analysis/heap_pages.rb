# frozen_string_literal: true

module HeapSample
  # The part of a report that shows which lines hold free memory in heap pages, and which memory of a forked process is
  # no longer shared with its parent.
  #
  # A heap page can be freed when it has no live object.  Its free slots are
  # charged to its live objects, in equal parts. So if a page has one
  # survivor, the line that allocated the survivor holds all of it.
  class HeapPages
    LINES = 5

    attr_reader :profile

    # +top+: rows of a table.
    def initialize(profile, top = LINES)
      @profile = profile
      @rows = [top, LINES].min
    end

    # What pins the objects that hold free memory, where they hold much: Array of Pins::Pin.
    def pins
      list = @profile.filtered ? [] : info.walk&.pins || []
      much?(list.sum { |pin| pin.estimate.space }) ? list : []
    end

    # Bytes that pinned objects hold; 0 of a part of a profile, where it is not known.
    def pinned_bytes = @profile.filtered ? 0 : @profile.table.sum { |row| row[Columns::HOLDS_FREE_PINNED] }

    # Did a heap walk look for what pins them?
    def walked? = !info.walk.nil? && info.walk.refused.nil?

    # Are so many bytes much, compared with the memory of the process?
    def much?(bytes) = bytes >= [AccountGrowth::FLOOR, AccountGrowth::SHARE * (info.account&.rss || 0)].max

    # JSON-ready; empty where nothing of it is known.
    def to_h
      {held_free_bytes: info.held_bytes, compact_bytes: info.compact_bytes,
       pins: (info.walk&.pins&.map(&:to_h) unless @profile.filtered),
       holds_free: (top(:holds_free).to_h unless info.held_bytes.nil? && top(:holds_free).total.zero?),
       inherited: info.inherited_pages, inherited_missing: info.inherited_missing, unshared: (top(:unshared).to_h if info.inherited_pages)}.compact
    end

    # The groups by one of Value::SHARES: a HeapSample::Top.
    def top(value)
      (@tops ||= {})[value] ||= Top.new(@profile, by: :line, value: value, top: @rows)
    end

    # HeapSample::Meta of the profile.
    def info = @profile.info
  end
end
