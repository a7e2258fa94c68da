# frozen_string_literal: true

module HeapSample
  # What an analysis answers beside its own figures: it is a text (#to_s), data (#to_h),
  # one line (#inspect) and, for pp and irb, a short table.
  #
  # The analysis is the figures.  How they look is its Text's, a class of its own beside it, made for each
  # text anew: who includes this has TEXT, that class, which is made of the analysis and a Layout and has
  # #to_s, #summary (a line) and #lines(top), the main table with no more than +top+ rows.
  module Analysis
    # Rows of a table that pp prints.
    BRIEF = 5

    # call-seq:
    #   to_s(width: 120, root: Dir.pwd, style: nil, stacks: false) -> String
    #
    # The text, in lines of +width+ characters; paths below +root+ are shortened; +style+: see Layout;
    # with +stacks+ each row of code has the whole stack by which most of it came.
    # What was given for them when the analysis was made is what they are unless told otherwise.
    def to_s(**look) = text(**look).to_s

    # The main table, title first, with no more than +top+ rows.
    def lines(top = nil, **look)
      text = text(**look)
      top ? text.lines(top) : text.lines
    end

    def inspect
      "#<#{self.class} #{text.summary}>"
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

    # For pattern matching, the names of #to_h.
    def deconstruct_keys(_) = to_h

    # The Text, of which others are made.
    def text(**look) # :nodoc:
      self.class::TEXT.new(self, layout(**look))
    end

    # A group's key as data: what it is called, and the place if it is one.
    def self.key(key, layout) # :nodoc:
      return {name: key} unless key.is_a?(Place)

      {name: layout.place(key), path: key.path, line: key.line, label: key.label}.compact
    end

    # The nodes below +root+ as a list, each after its parent: the block makes an entry of a node and its parent's index.
    def self.flat(root) # :nodoc:
      entries = []
      waiting = [[root, nil]]
      until waiting.empty?
        node, parent = waiting.pop
        waiting.concat(node.children.reverse.map { |child| [child, entries.size] })
        entries << yield(node, parent)
      end
      entries
    end

    private

    # Keeps how texts are to look.  Raises ArgumentError if that makes no sense.
    def look_like(look)
      @look = look
      layout
    end

    def layout(**look) = Layout.new(root: Dir.pwd, directory: directory, **@look, **look)

    # The working directory of the process that is told of; nil if that is not known, or there are several.
    def directory = (@profile.is_a?(Profile) ? @profile.info : @series.is_a?(Series) ? @series.infos.last : nil)&.directory
  end
end
