# frozen_string_literal: true

module HeapSample
  # A Compaction as text.
  class CompactionText
    # Rows of what pins.
    ROWS = 8
    # While such a part of all slots is free, each GC gives pages back: RUBY_GC_HEAP_FREE_SLOTS_MAX_RATIO.
    FREE_MOST = 0.65

    def initialize(compaction, layout)
      @compaction = compaction
      @layout = layout
    end

    def to_s = @layout.text([lines, pins, pinned, conclusion])

    # Title and table.
    def lines(_ = nil)
      states = {"before" => @compaction.before, "after" => @compaction.after, "after the block" => @compaction.later}.compact
      columns = {"RSS" => :rss, "free slots" => :free_bytes, "pages" => :pages, "with pinned objects" => :pinned_pages}.select { |_, name| states.values.first.public_send(name) }
      rows = states.map { |title, state| [*columns.values.map { |name| cell(state.public_send(name), name) }, title] }
      [*@layout.title(title), *@layout.table([*columns.keys.map { |name| [name, :right] }, ["", :left]], rows)]
    end

    def summary = title

    private

    def title
      expected = " (expected: #{@layout.time(@compaction.expected)})" if @compaction.expected
      "Compaction stopped Ruby code for #{@layout.time(@compaction.seconds)}#{expected}, and moved #{@layout.count(@compaction.moved)} of #{@layout.count(@compaction.considered)} objects"
    end

    def cell(value, name)
      return Layout::NOTHING unless value

      %i[rss free_bytes].include?(name) ? @layout.bytes(value) : @layout.count(value)
    end

    # What pins, by a heap walk.
    def pins = PinsText.new(@compaction.pins, @layout).lines

    # What is pinned, by class.
    def pinned
      groups = @compaction.pinned
      return [] if groups.empty?

      shown = groups.first(ROWS)
      columns = [["objects", :right], ["pages", :right], ["class", :left], ["allocated at", :left]]
      rows = shown.map { |group| [@layout.count(group.objects), @layout.count(group.pages), @layout.name(group.class_name), group.path.empty? ? Layout::NOTHING : Place.new(group.path, group.line, nil)] }
      [*@layout.title("Objects that could not be moved: #{@layout.count(groups.sum(&:objects))}"), *@layout.table(columns, rows),
       *@layout.more(groups.size - shown.size)]
    end

    def conclusion
      bytes = @compaction.given_back or return @layout.sentence("RSS is not known on this platform.")
      change = "#{bytes.negative? ? "rose" : "fell"} by #{@layout.bytes(bytes.abs)}"
      verdict = @compaction.worth_it? ? "GC.compact gave back memory: RSS #{change}." : "It was not worth the stop: RSS #{change}."
      @layout.sentence([verdict, *(free unless @compaction.worth_it?), *emptied, *again].join(" "))
    end

    def free
      bytes = @compaction.after.free_bytes or return
      "#{@layout.bytes(bytes)} are free in the heap for new objects. Ruby returns a page only if it is empty, and not needed by GC_HEAP_FREE_SLOTS_MAX_RATIO."
    end

    def emptied
      pages, after = @compaction.emptied_pages, @compaction.after
      return unless pages&.positive? && after.free_bytes && after.free_bytes > FREE_MOST * after.all_bytes

      "Later GCs give back more of the #{@layout.count(pages)} pages that are empty now, while over #{(FREE_MOST * 100).round}% of all slots are free."
    end

    # How much the work in the block took again.
    def again
      later, after = @compaction.later&.rss, @compaction.after.rss
      "The block took #{@layout.bytes([later - after, 0].max)} again." if later && after
    end
  end
end
