# frozen_string_literal: true

module HeapSample
  # What an analysis answers beside its own: it is a text (#to_s), data (#to_h),
  # one line (#inspect) and, for pp and irb, a short table.
  #
  # Who includes it has #summary, a line, and #lines(top), the main table with no
  # more than +top+ rows.
  module Analysis
    # Rows of a table that pp prints.
    BRIEF = 5

    def inspect
      "#<#{self.class} #{summary}>"
    end

    # The main table, its first rows.
    def pretty_print(printer) # :nodoc:
      lines(BRIEF).each_with_index do |line, index|
        unless index.zero?
          printer.current_group.break
          printer.breakable
        end
        printer.text(line)
      end
    end

    # A group's key as data: what it is called, and the place if it is one.
    def self.key(key, layout) # :nodoc:
      return {name: key} unless key.is_a?(Place)

      {name: layout.place(key), path: key.path, line: key.line, label: key.label}.compact
    end
  end
end
