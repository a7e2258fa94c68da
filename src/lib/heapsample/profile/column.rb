# frozen_string_literal: true

module HeapSample
  # One column of a row: what it is called and all that readers, writers, merging, grouping and
  # the HTML view have to know of it.  Columns declares them.
  class Column
    # A Symbol, and the place in a row.
    attr_reader :name, :index
    # :stack, a handle; :text, an index into Profile#texts or a String; :number; :flag, whose label
    # has the column's name as its text where it is true; or :sum, an estimate or a part of one.
    attr_reader :holds
    # What a file calls it: as a label of a sample; as one of its values; and its field in the message Row.
    attr_reader :label, :value, :field
    # What other programs' files call it: its value, or its label.
    attr_reader :aliases
    # What a merge does with it: :same, rows are added where it agrees; :add; :age, it is moved to the
    # time of the last profile; :drop, it means nothing beyond its process.
    attr_reader :merge
    # What it is where no file has it.
    attr_reader :absent

    def initialize(name, index, holds, merge:, label: nil, value: nil, field: nil, aliases: [], group: false, absent: 0)
      @name = name
      @index = index
      @holds = holds
      @merge = merge
      @label = label
      @value = value
      @field = field
      @aliases = aliases
      @group = group
      @absent = absent
      Ractor.make_shareable(self)
    end

    # May rows be grouped and filtered by it?
    def group? = @group

    def text? = holds == :text
    def sum? = holds == :sum
    def flag? = holds == :flag

    def inspect
      "#<#{self.class} #{index} #{name}>"
    end
  end
end
