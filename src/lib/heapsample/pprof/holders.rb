# frozen_string_literal: true

module HeapSample
  # What retains the rows of a file: its messages Reference, which are a tree, and Part, which have how much of a row is
  # reached on a chain of them.  Collects them while rows are read.
  class PprofHolders
    # Fields of Reference: the parent's place among the references, from 1, lower than its own; what it is called, of which
    # kind, the file and line of its code; to how many objects it leads; and whether these are linked to each other by it; the
    # entries of a container, and 1; and what limits that.
    PARENT, NAME, KIND, PATH, LINE, OBJECTS, REPEATS, ENTRIES, BOUND = *1..9
    # Fields of Part: the reference's place; how much; and the class of the objects where it is not the row's.
    REFERENCE, FIGURES, CLASS = 1, [2, 3, 4].freeze, 5

    def initialize(texts)
      @texts = texts
      @parents, @edges, @linked = [0], [nil], [nil]
      @held = []
    end

    # Takes a message Reference.
    def add(message)
      fields = numbers(message, BOUND)
      raise Protobuf::Malformed, "a reference has no parent" if fields[PARENT] >= @parents.size

      @parents << fields[PARENT]
      @linked << fields[OBJECTS]
      @edges << Edge.new(text(fields[NAME]), text(fields[KIND]), text(fields[PATH]), fields[LINE].clamp(0, PprofReader::LINE_MAX),
                         repeats: fields[REPEATS].zero? ? 1 : fields[OBJECTS],
                         entries: (fields[ENTRIES] - 1 if fields[ENTRIES] > 0), bound: (text(fields[BOUND]) if fields[BOUND] > 0))
    end

    # Takes a message Part, of a row.
    def take(row, message)
      fields = numbers(message, CLASS)
      raise Protobuf::Malformed, "a part of a row has no reference" unless fields[REFERENCE].between?(1, @parents.size - 1)

      class_name = fields[CLASS].zero? ? row[Columns::CLASS] : fields[CLASS]
      @held << Holders::Held.new(row, fields[REFERENCE], text(class_name), *fields.values_at(*FIGURES))
    end

    # How many parts were taken.
    def size = @held.size

    # nil if there are none.
    def holders = (Holders.new(@parents, @edges, @held, @linked) if @held.any?)

    private

    # By field, up to +last+.
    def numbers(message, last)
      fields = Array.new(last + 1, 0)
      message.each_field { |number, value, to| fields[number] = value if !to && number <= last }
      raise Protobuf::Malformed, "a value is negative" if fields.max >= 1 << 63

      fields
    end

    def text(index) = @texts.fetch(index) { raise Protobuf::Malformed, "a string is missing (cut off?)" }
  end
end
