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
    # "count", "bytes" or "bytes2"; nil of what has none.
    attr_reader :unit
    # What a file calls it: as a label of a sample, or as one of its values; at which place among
    # these; and the first format that has the label.
    attr_reader :label, :value, :place, :since
    # What other programs' files call it.
    attr_reader :aliases
    # What a merge does with it: :same, rows are added where it agrees; :add; :age, it is moved to the
    # time of the last profile; :drop, it means nothing beyond its process.
    attr_reader :merge
    # What it is where nothing tells it.
    attr_reader :absent

    def initialize(name, index, holds, merge:, unit: nil, label: nil, value: nil, place: nil, since: 1, aliases: [], group: false, absent: 0)
      @name = name
      @index = index
      @holds = holds
      @merge = merge
      @unit = unit
      @label = label
      @value = value
      @place = place
      @since = since
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
