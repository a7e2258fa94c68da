# frozen_string_literal: true

module HeapSample
  # What all reports have in common.
  #
  # A report is data: its class takes a profile, or several, and what selects and groups. It does not know how its
  # figures are printed. That is the work of its text, a class of its own, which a report names as TEXT. A text is made
  # of the report and a Layout, and has #to_s (the whole), #lines(top) (the main table, with at most +top+ rows) and
  # #summary (one line).
  #
  #   report.text(width: 80).to_s
  module Analysis
    # Rows of a table that pp prints.
    BRIEF = 5

    # call-seq:
    #   text(width: 120, root: Dir.pwd, style: nil, stacks: false) -> text
    #
    # The report as text, in lines of +width+ characters. Paths below +root+ are shortened. For +style+ see Layout. With
    # +stacks+, each row of code has the whole stack that allocated most of it.
    def text(**look) = self.class::TEXT.new(self, layout(**look))

    # The text in lines of 120 characters.
    def to_s = text.to_s

    def inspect
      "#<#{self.class} #{text.summary}>"
    end

    # The first rows of the main table.
    def pretty_print(printer) # :nodoc:
      text.lines(BRIEF).each_with_index do |line, index|
        unless index.zero?
          printer.current_group.break
          printer.breakable
        end
        printer.text(line)
      end
    end

    # For pattern matching, the names of #to_h.
    def deconstruct_keys(_) = to_h

    # The Layout of a text, and of the names in #to_h.
    def layout(**look) = Layout.new(root: Dir.pwd, directory: directory, counted: counted?, **look) # :nodoc:

    # A group's key as data: what it is called, and the place if it is one.
    def self.key(key, layout = Layout.new(root: Dir.pwd)) # :nodoc:
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

    # Is it of heap dumps?
    def counted? = (@profile || (@growth.later if @growth.is_a?(Growth)) || @profiles&.last).then { |profile| profile.is_a?(Profile) && profile.info.dump? }

    # The working directory of the sampled process; nil if it is not known, or if there are several processes.
    def directory = (@profile.is_a?(Profile) ? @profile.info : @series.is_a?(Series) ? @series.infos.last : nil)&.directory
  end
end
