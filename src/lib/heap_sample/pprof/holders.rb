# frozen_string_literal: true

module HeapSample
  # The samples of a file that say who keeps a row: their stacks are references (HeapSample::Edge), their values the last
  # three types.  They are no rows: whoever sums rows must not see them.  Collects them while rows are read.
  class PprofHolders
    # Their values, in the order of Holders::Held.
    TYPES = %w[kept_objects kept_space kept_var].freeze
    # Kinds of the frame that a stack may begin with, which is no reference: an object, by its class, or memory of the object
    # before it.
    OBJECT, BLOCK = "object", "malloc"
    ENDS = [OBJECT, BLOCK].freeze
    # Labels: of which row it is, by its place among the samples, from 0; the class of the objects or, of memory, that of the
    # object which has it; to how many objects each reference leads, one label a reference.
    ROW, CLASS, LINKED = "row", "class", "linked"
    KEY, TEXT, NUMBER = 1, 2, 3
    LABEL = 3

    # +types+: names of the sample types.
    def initialize(texts, types, wanted:)
      @texts = texts
      @count = types.size
      @places = TYPES.map { |name| types.index(name) }
      @places = nil unless wanted && @places.all?
      @edges = {}
      @known = {}
      @taken = []
    end

    # Is a location a reference?  It has a system name, and no address.
    def edge?(id, lines)
      return false unless @places && lines.size == 1

      name, path, _, line, address, system = lines.first
      return false if address > 0 || system.nil? || system.zero?

      @edges[id] = Edge.new(@texts[name], @texts[system], @texts[path], line)
      true
    end

    # Takes a sample if it is one of them: packed location ids, packed values, labels.
    def take(list, packed, labels)
      return false unless @places

      values = @known.fetch(packed) { @known[packed] = values(packed) } or return false
      @taken << [list, values, labels]
      true
    end

    # Holders of +rows+, all rows of the file in its order; nil if it does not tell any.
    def holders(rows)
      return if @taken.empty?

      @parents, @numbers, @linked, @nodes = [0], [nil], [nil], {}
      held = @taken.map do |list, values, labels|
        number, class_name, linked = read_labels(labels)
        row = rows[number || rows.size] or raise Protobuf::Malformed, "a holder belongs to no row"
        Holders::Held.new(row, node(list, linked), class_name || @texts[row[Columns::CLASS]], *values)
      end
      Holders.new(@parents, @numbers, held, @linked)
    end

    private

    # nil of a row's.
    def values(packed)
      values = Protobuf.packed(packed, 0, packed.bytesize, @count)
      return unless values.size == @count        # whoever reads rows says so

      found = values.values_at(*@places)
      raise Protobuf::Malformed, "a value is negative" if found.max >= 1 << 63

      found if found.any?(&:positive?)
    end

    # The row's number, the class, and what each reference leads to, the last one first.
    def read_labels(labels)
      number = class_name = nil
      linked = []
      Protobuf.new(labels).each_field do |field, from, to|
        next unless field == LABEL && to

        key, text, value = read_label(labels.byteslice(from, to - from))
        number = value if key == ROW
        linked << value if key == LINKED
        class_name = @texts.fetch(text) { raise Protobuf::Malformed, "a string is missing (cut off?)" } if key == CLASS
      end
      [number, class_name, linked]
    end

    def read_label(label)
      key = text = number = 0
      Protobuf.new(label).each_field do |field, value, to|
        next if to

        case field
        when KEY then key = value
        when TEXT then text = value
        when NUMBER then number = value
        end
      end
      [@texts[key], text, number]
    end

    def node(list, linked)
      Protobuf.packed(list, 0, list.bytesize).reverse.inject(0) do |parent, id|
        edge = @edges[id] or raise Protobuf::Malformed, "a frame of a holder is not a reference"
        next parent if ENDS.include?(edge.kind)

        objects = linked.pop
        @nodes[[parent, id]] ||= begin
          raise Protobuf::Malformed, "it has more than #{PprofReader::ENTRIES_MAX} references" if @parents.size > PprofReader::ENTRIES_MAX

          @parents << parent
          @numbers << edge
          @linked << objects
          @parents.size - 1
        end
      end
    end
  end
end
