# frozen_string_literal: true

module HeapSample
  module Dump
    # A Trend as text.
    class TrendText
      def initialize(trend, layout)
        @trend = trend
        @layout = layout
      end

      def to_s = @layout.text([head, lines, conclusion])

      # The table, at most +count+ rows.
      def lines(count = nil)
        shown = count ? @trend.first(count) : @trend.to_a
        return [] if shown.empty?

        rows = shown.map { |row| cells(row) }
        [*@layout.title("Grew from each dump to the next, by #{@trend.by}:"), *@layout.table(columns, rows), *@layout.more(@trend.rows.size - shown.size)]
      end

      def summary = sentence

      # The verdict.
      def sentence
        sizes = @trend.bytes.map { |bytes| @layout.bytes(bytes) }.join(", ")
        "Cannot tell: #{@trend.profiles.size} heap dumps, with #{sizes} of objects. #{@trend.grows? ? GROWS : SAME}"
      end

      private

      GROWS = "Memory grew from each dump to the next. So few moments do not distinguish a leak from a cache that fills."
      SAME = "Memory did not grow in each step."
      private_constant :GROWS, :SAME

      def head = [@layout.title(sentence), @trend.identified && @layout.sentence(@trend.identified)].compact.flatten(1)

      def cells(row)
        still = row.still ? @layout.bytes(row.still) : Layout::NOTHING if still?
        [@layout.bytes(row.grew, sign: true), *row.bytes.map { |bytes| @layout.bytes(bytes) }, *still, row.holder ? @layout.holder(row.holder) : Layout::NOTHING, row.key]
      end

      def columns
        dumps = @trend.profiles.each_index.map { |index| ["dump #{index + 1}", :right, 1] }
        [["grew", :right], *dumps, *([["new in 2, still there", :right, 2]] if still?), ["retained by", :left, 3], [@trend.by.to_s, :left]]
      end

      def still? = @trend.any?(&:still)

      def conclusion
        row = @trend.first or return @layout.sentence("No #{@trend.by} grew in each step.")
        holder = ", retained by #{Printable.code(@layout.holder(row.holder))}" if row.holder
        garbage = " Garbage, to which no reference was found, grew by #{@layout.bytes(@trend.garbage)}." if @trend.garbage.positive?
        @layout.sentence("Look first at #{@layout.subject(row.key)}: #{@layout.bytes(row.grew, sign: true)}#{holder}.#{garbage}")
      end
    end
  end
end
