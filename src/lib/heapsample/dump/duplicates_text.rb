# frozen_string_literal: true

module HeapSample
  module Dump
    # Strings with the same contents as text: how many, and the line of the first.  The contents are not shown.
    class DuplicatesText
      ROWS = 5

      # +facts+: the Facts of +profile+.
      def initialize(profile, facts, layout)
        @profile = profile
        @duplicates = facts.duplicates
        @layout = layout
      end

      # A title and a table; no lines if there are no such strings.
      def lines
        return [] if @duplicates.empty?

        keys = Keys.new(@profile, :line)
        shown = @duplicates.first(ROWS)
        rows = shown.map { |one| [@layout.count(one.strings), @layout.bytes(one.wasted), @layout.count(one.text_bytes), keys.of(one.row)] }
        [*@layout.title(title), *@layout.table([["strings", :right], ["saved", :right], ["bytes of text", :right, 1], ["line of the first", :left]], rows),
         *@layout.more(@duplicates.size - shown.size)]
      end

      private

      def title
        count, wasted = @duplicates.sum { |one| one.strings - 1 }, @duplicates.sum(&:wasted)
        "Duplicate strings: #{@layout.count(count)} #{count == 1 ? "string has" : "strings have"} the contents of another; one of each would save #{@layout.bytes(wasted)}"
      end
    end
  end
end
