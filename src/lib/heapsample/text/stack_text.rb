# frozen_string_literal: true

module HeapSample
  # A stack as lines of text, leaf first: whole where the layout has stacks, else its most useful frames.
  # That is the native code which wanted the memory, the line that called it, and the lines of the application behind;
  # what is left out is counted where it was.
  class StackText
    FRAMES = 8
    NATIVE = 3
    APPLICATION = 3
    INDENT = "  "

    # Lines below a table, for each of +rows+ (pairs of a rank and frames).
    def self.section(rows, layout)
      rows.flat_map do |rank, frames|
        frames.empty? ? [] : [*layout.sentence("Most of #{rank} was allocated by:"), *new(frames, layout).lines]
      end
    end

    def initialize(frames, layout)
      @frames = frames
      @layout = layout
    end

    def lines
      return @frames.map { |frame| line(frame) } if @layout.stacks? || @frames.size <= FRAMES

      [-1, *shown, @frames.size].each_cons(2).flat_map do |before, index|
        [*gap(index - before - 1), *(line(@frames[index]) if index < @frames.size)]
      end
    end

    private

    # Indexes of the frames that are shown.
    def shown
      native = @frames.index { |frame| !frame.native? } || @frames.size
      wanted = (0...native).reject { |index| @frames[index].hands_on? }.first(NATIVE)
      application = (native...@frames.size).select { |index| application?(@frames[index]) }.first(APPLICATION)
      rest = (native...@frames.size).to_a - application
      (wanted + application + rest.first(FRAMES - wanted.size - application.size)).sort
    end

    def application?(frame) = !frame.full_path.empty? && GemName.of(frame.full_path) == GemName::APP

    def gap(count)
      count > 0 ? ["#{INDENT}… #{count} frame#{"s" if count > 1}"] : []
    end

    def line(frame) = INDENT + @layout.place(Place.of(frame), @layout.width - INDENT.length)
  end
end
