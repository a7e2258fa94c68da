# frozen_string_literal: true

module HeapSample
  # HeapPages as text.
  class HeapPagesText
    def initialize(pages, layout)
      @pages = pages
      @layout = layout
    end

    # Lines of text; none where there is little free memory.
    def lines = [*free, *unshared]

    # What pins the objects that hold free memory, where they hold much.
    def pins = PinsText.new(@pages.pins, @layout).lines

    # The same, or where it is not known, how to find out.
    def pins_or_why_not
      return [] unless @pages.much?(@pages.pinned_bytes)
      return pins if @pages.walked?

      @layout.sentence("To see what pins #{@layout.bytes(@pages.pinned_bytes)} of it, run a heap walk: GC.sample_profile(why: true), or heapsample top --value holds_free PID.")
    end

    # What pins them, as a sentence.
    def pins_sentence = @pages.pins.empty? ? [] : @layout.sentence(PinsText.new(@pages.pins, @layout).sentence)

    private

    def info = @pages.info

    def free
      held = @pages.top(:holds_free).total
      return [] unless @pages.much?(held.space)

      [*@layout.title("Free memory of heap pages, by the lines that hold it: #{@layout.size(held)} #{@layout.bracketed(held)}"),
       *table(:holds_free), *compact, *pins_or_why_not]
    end

    def compact
      bytes = info.compact_bytes or return []

      @layout.sentence("At the last major GC, #{@layout.bytes(info.held_bytes)} were free in heap pages that also had live objects. " \
                       "GC.compact could empty at most #{@layout.bytes(bytes)} of pages; pinned objects cannot be moved.")
    end

    def unshared
      inherited = info.inherited_pages
      return missing unless inherited
      return [] unless @pages.much?(inherited[:unshared])

      share = @layout.percent(inherited[:unshared] / inherited[:bytes].to_f)
      [*@layout.title("Shared with the parent process at the fork, but no longer: #{@layout.bytes(inherited[:unshared])} of " \
                      "#{@layout.bytes(inherited[:bytes])} of heap pages (#{share}). Live slots in them, by line:"), *table(:unshared)]
    end

    def missing
      info.inherited_missing ? @layout.sentence("How much memory this process still shares with its parent is not known: #{info.inherited_missing}.") : []
    end

    def table(value) = TopText.new(@pages.top(value), @layout).table(notes: false)
  end
end
