# frozen_string_literal: true

require "json"

module HeapSample
  # Writes a HeapSample::Profile as pprof, byte for byte what the sampler itself
  # would write of it (doc/format.md; src/heap_sampler/profile/encode_pprof.c): samples
  # first, then what they were found to need.  A profile of another program has
  # no rows, references or settings in its file: only what every program's files have.
  #
  #   PprofWriter.new(profile).write(io)
  class PprofWriter
    # Sample types: type and unit.
    TYPES = Columns::VALUES.map { |column| [column.value, column.value.end_with?("_space") ? "bytes" : "count"] }.freeze
    # Strings that the sampler writes into every file, in this order.
    FIXED = ["", *TYPES.flatten, "space", *Columns::LABELS.flat_map { |column| column.flag? ? [column.label, column.name.name] : [column.label] }].uniq.freeze
    Ractor.make_shareable(TYPES)
    VALUE_INDEXES = Columns::VALUES.map(&:index).freeze
    LABEL_INDEXES = Columns::LABELS.map(&:index).freeze

    VALUE_MAX = (1 << 63) - 1
    RUBY_MAPPING = 1
    # Where the output is handed on.
    BUFFER = 1 << 16

    def initialize(profile)
      @profile = profile
      @stacks = profile.stacks
      @own = !profile.meta.empty?
      @holders = profile.holders if @own
      @strings = {}
      @locations = {}
      @functions = {}
      @mappings = {}
      @addresses = PprofAddresses.new
      @location_bytes = "".b
      @function_bytes = "".b
      @lists = {}
      @labels = {}
      @rows = {}
      @numbers = Hash.new { |known, value| known[value] = Protobuf.encode(value).freeze }
    end

    def write(io)
      out = head
      each_sample do |bytes|
        out << bytes
        out = io.write(out) && "".b if out.bytesize > BUFFER
      end
      io.write(out, references, mappings, @location_bytes, @function_bytes, strings)
    end

    private

    # Rows that agree in stack and labels are one sample.
    def each_sample
      groups = @profile.table.group_by { |row| [row[Columns::STACK], *labels_of(row)] }
      groups.each_value { |rows| yield message(2, list(rows.first[Columns::STACK]) + message(2, sums(rows)) + labels(rows.first) + rows_message(rows)) }
    end

    def head
      FIXED.each { |text| string(text) } if @own
      out = TYPES.map { |type, unit| message(1, value_type(type, unit)) }.join
      out << message(3, number(1, RUBY_MAPPING) + number(2, PprofAddresses::START) + number(3, PprofAddresses::LIMIT) + number(7, 1) + number(8, 1) + number(9, 1))
      info = @profile.info
      out << number(9, nanoseconds("started_ns")) << number(10, [nanoseconds("taken_ns") - nanoseconds("started_ns"), 0].max)
      out << number(12, info.interval || 0) << number(14, string("inuse_space")) << message(11, value_type("space", "bytes"))
      @own ? out << message(PprofReader::Field::META, MetaMessage.encode(@profile.meta)) : out
    end

    def nanoseconds(field)
      value = @profile.meta[field]
      value.is_a?(Integer) ? value.clamp(0, VALUE_MAX) : 0
    end

    def value_type(type, unit)
      number(1, string(type)) + number(2, string(unit))
    end

    def list(handle)
      @lists[handle] ||= message(1, location_ids(handle).map { |id| @numbers[id] }.join)
    end

    def location_ids(handle)
      ids = @stacks.frame_ids(handle)
      ids.empty? ? [no_stack] : ids.map { |id| location(id) }
    end

    def sums(rows)
      VALUE_INDEXES.map { |index| @numbers[[rows.sum { |row| whole(row[index]) }, VALUE_MAX].min] }.join
    end

    def rows_message(rows)
      return "".b unless @own

      parts = parts_of_rows
      rows.map { |row| message(PprofReader::ROW, allocation_gc(row) + fields(row) + parts.fetch(row, "")) }.join
    end

    # One of 0 is there, too.
    def allocation_gc(row)
      allocation_gc = row[Columns::ALLOCATION_GC]
      allocation_gc ? @numbers[ALLOCATION_GC.field << 3] + @numbers[allocation_gc.clamp(0, VALUE_MAX)] : "".b
    end

    def fields(row)
      values = row.values_at(*FIELD_INDEXES)
      @rows[values] ||= FIELDS.zip(values).map { |column, value| field(column, value, row) }.join
    end

    # Nothing of what a reader takes for granted.
    def field(column, value, row)
      from = VARIANCES[column.index]
      value = if from then variance(value)
              else column.text? ? text_index(value) : whole(value)
              end
      taken = if from then Columns.variance(*row.values_at(*from).map { |one| whole(one) })
              elsif column.absent.is_a?(Symbol) then whole(row[Columns::COPIES.fetch(column.index)])
              else column.absent
              end
      left_out = from ? same_variance?(value, taken) : value == taken
      left_out || (OF_FREED.include?(column.index) && all_freed?(row)) ? "" : @numbers[column.field << 3] + @numbers[value]
    end

    # Is all freed that was allocated? Then the file has the samples alone.
    def all_freed?(row)
      freed, alloc = [Columns::FREED, Columns::ALLOC].map { |at| row[at, 4].map { |value| whole(value) } }
      freed.first(3) == alloc.first(3) && same_variance?(variance(freed.last), variance(alloc.last))
    end

    # To ten binary digits, which is exact to a thousandth: zeros compress.
    def variance(value)
      shift = [whole(value).bit_length - 10, 0].max
      [(whole(value) + (1 << shift) / 2) >> shift << shift, VALUE_MAX].min
    end

    def same_variance?(value, other) = (value - other).abs <= value / 1000

    VARIANCES = Columns::VARIANCES.to_h { |at, *from| [at, from.freeze] }.freeze
    OF_FREED = (Columns::FREED_OBJECTS..Columns::FREED_VARIANCE)
    private_constant :VARIANCES, :OF_FREED

    ALLOCATION_GC = Columns::FIELDS_OF_ROW.first
    FIELDS = Columns::FIELDS_OF_ROW.drop(1).freeze
    FIELD_INDEXES = FIELDS.map(&:index).freeze
    private_constant :ALLOCATION_GC, :FIELDS, :FIELD_INDEXES

    def text_index(reference)
      text = @profile.text(reference)
      text.empty? ? 0 : string(text)
    end

    # By row: what is reached on each chain of references.
    def parts_of_rows
      @parts_of_rows ||= (@holders || []).each_with_object({}.compare_by_identity) do |held, parts|
        (parts[held.row] ||= "".b) << message(PprofReader::PART, part(held))
      end
    end

    def part(held)
      class_name = held.class_name == @profile.text(held.row[Columns::CLASS]) ? 0 : string(held.class_name)
      [held.node, whole(held.objects), whole(held.space), whole(held.variance), class_name].each_with_index.map { |value, index| number(index + 1, value) }.join
    end

    # One for each node.
    def references
      return "" unless @holders

      (1...@holders.size).map do |node|
        edge = @holders.edge(node)
        repeats = edge.repeats > 1 && @holders.parent(node) > 0
        fields = [@holders.parent(node), string(edge.name), string(edge.kind), edge.path.empty? ? 0 : string(edge.path), edge.line,
                  (repeats ? edge.repeats : @holders.linked(node) || 0), repeats ? 1 : 0,
                  edge.entries ? edge.entries + 1 : 0, edge.bound ? string(edge.bound) : 0]
        message(PprofReader::Field::REFERENCE, fields.each_with_index.map { |value, index| number(index + 1, value) }.join)
      end.join
    end

    def whole(value)
      value.round.clamp(0, VALUE_MAX)
    rescue FloatDomainError
      VALUE_MAX
    end

    # What a sample's labels follow from, as texts.
    def labels_of(row)
      row.values_at(*LABEL_INDEXES, Columns::LABEL_SET).map { |value| value.is_a?(Integer) ? @profile.text(value) : value }
    end

    def labels(row)
      values = labels_of(row)
      @labels[values] ||= Columns::LABELS.zip(values).map { |column, value| label_of(column, value) }.join +
                          Labels.parse(values.last).map { |name, value| label(name, value) }.join
    end

    def label_of(column, value)
      value = value ? column.name.name : "" if column.flag?
      value.empty? ? "" : label(column.label, value)
    end

    def label(key, text) = message(3, number(1, string(key)) + number(2, string(text)))

    def location(frame)
      @locations[frame] ||= begin
        id = @locations.size + 1
        @locations[frame] = id
        label, path, absolute_path, line, address = @stacks.fields(frame)
        if address > 0
          native_location(id, label, path, address)
        else
          path = absolute_path unless absolute_path.empty?
          label = Stacks::NO_LABEL if label.empty?
          add_location(id, RUBY_MAPPING, @addresses.take(label, path, line), function(label, path), line)
        end
        id
      end
    end

    # Its id is above all others, as in the sampler.
    def no_stack
      @no_stack ||= begin
        id = @stacks.frame_count + 1
        add_function(id, string(Stacks::NO_STACK), 0, 0)
        add_location(id, RUBY_MAPPING, @addresses.take(Stacks::NO_STACK, "", 0), id, 0)
        id
      end
    end

    # Where no file has a symbol for it there is no line: go tool pprof looks further.
    def native_location(id, label, path, address)
      range = @stacks.mapping(address) unless path.empty?
      mapping = range || !path.empty? ? mapping_of(path, range) : nil
      mapping.last[:unnamed] = true if mapping && label.empty?
      function = function(label, nil) unless mapping && label.empty?
      add_location(id, mapping ? mapping.first : 0, address, function, 0)
    end

    # Number and what is known of a mapping.
    def mapping_of(path, range)
      @mappings[[path, range]] ||= [@mappings.size + RUBY_MAPPING + 1, {}]
    end

    def add_location(id, mapping, address, function, line)
      line = function ? message(4, number(1, function) + number(2, line)) : ""
      @location_bytes << message(4, number(1, id) + number(2, mapping) + number(3, address) + line)
    end

    # +path+ nil: of a library; go tool pprof takes the names of those apart
    # because they have a system name, and Ruby's because they have none not.
    def function(label, path)
      @functions[[label, path]] ||= begin
        id = @functions.size + 1
        name = string(label.empty? ? Stacks::NO_LABEL : label)
        add_function(id, name, path ? 0 : name, path ? string(path) : 0)
        id
      end
    end

    def add_function(id, name, system_name, path)
      @function_bytes << message(5, number(1, id) + number(2, name) + number(3, system_name) + number(4, path))
    end

    def mappings
      @mappings.map do |(path, (start, limit, offset)), (id, known)|
        message(3, number(1, id) + number(2, start || 0) + number(3, limit || 0) + number(4, offset || 0) +
                   number(5, string(path)) + number(7, known[:unnamed] ? 0 : 1))
      end.join
    end

    def strings
      string("")
      @strings.keys.map { |text| message(6, text.b) }.join
    end

    # Index 0 is "".
    def string(text)
      @strings[""] ||= 0
      @strings[text] ||= @strings.size
    end

    def number(field, value)
      value.zero? ? "".b : @numbers[field << 3] + @numbers[value]
    end

    def message(field, bytes)
      "".b << @numbers[field << 3 | Protobuf::BYTES] << @numbers[bytes.bytesize] << bytes
    end
  end
end
