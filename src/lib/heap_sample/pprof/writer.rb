# frozen_string_literal: true

require "json"

module HeapSample
  # Writes a HeapSample::Profile as pprof, byte for byte what the sampler itself
  # would write of it (doc/format.md; src/heap_sampler/profile/encode_pprof.c): samples
  # first, then what they were found to need.  A profile of another program has
  # no samples, variances or settings; it gets the four sample types that all know.
  #
  #   PprofWriter.new(profile).write(io)
  #
  # Who keeps what, if the profile tells, is samples behind the rows: PprofHolders reads them.
  class PprofWriter
    # Values that every program's files have; ours have them again of slots alone and of malloc alone.
    BOTH = Columns::VALUES.first(4).freeze
    SIDES = %w[slots malloc].flat_map { |side| BOTH.map { |column| ["#{side}_#{column.value}", column.unit] } }.freeze
    # Sample types: type and unit.  SIDES have the places that no column has.
    TYPES = begin
      sides = SIDES.each
      Array.new(Columns::VALUES.size + SIDES.size) do |place|
        column = Columns::VALUES.find { |one| one.place == place }
        column ? [column.value, column.unit] : sides.next
      end
    end
    # Values before those of SIDES, and behind them.
    NEXT, LAST = Columns::VALUES.drop(BOTH.size).partition { |column| column.place < TYPES.index(SIDES.first) }.map(&:freeze)
    # Labels of the first format, and of later ones.
    OLD_LABELS, NEW_LABELS = Columns::LABELS.partition { |column| column.since == 1 }.map(&:freeze)
    # Strings that the sampler writes into every file, in this order.
    FIXED = ["", "count", "bytes", "bytes2", "space", *OLD_LABELS.map(&:label), *TYPES.map(&:first),
             *NEW_LABELS.flat_map { |column| column.flag? ? [column.label, column.name.name] : [column.label] }].freeze
    [SIDES, TYPES].each { |types| Ractor.make_shareable(types) }
    LABEL_INDEXES = Columns::LABELS.map(&:index).freeze

    VALUE_MAX = (1 << 63) - 1
    RUBY_MAPPING = 1
    # Where the output is handed on.
    BUFFER = 1 << 16

    # Units of PprofHolders::TYPES.
    HELD_UNITS = %w[count bytes bytes2].freeze

    def initialize(profile)
      @profile = profile
      @stacks = profile.stacks
      @own = !profile.meta.empty?
      @holders = profile.holders if @own
      @no_rows = [0] * HELD_UNITS.size if @holders
      @holder_count = 0
      @strings = {}
      @locations = {}
      @functions = {}
      @mappings = {}
      @location_bytes = "".b
      @function_bytes = "".b
      @lists = {}
      @labels = {}
      @numbers = Hash.new { |known, value| known[value] = Protobuf.encode(value).freeze }
    end

    def write(io)
      out = head
      each_sample do |bytes|
        out << bytes
        out = io.write(out) && "".b if out.bytesize > BUFFER
      end
      io.write(out, mappings, @location_bytes, @function_bytes, strings)
    end

    private

    def each_sample
      @profile.table.each { |row| yield sample(row) }
      return unless @holders

      string(PprofHolders::ROW)
      numbers = {}.compare_by_identity
      @profile.table.each_with_index { |row, index| numbers[row] = index }
      @holders.each { |held| yield held_sample(held, numbers.fetch(held.row)) }
    end

    def head
      FIXED.each { |text| string(text) } if @own
      out = types.map { |type, unit| message(1, value_type(type, unit)) }.join
      out << message(3, number(1, RUBY_MAPPING) + number(7, 1) + number(8, 1) + number(9, 1))
      info = @profile.info
      out << number(9, nanoseconds("started_ns")) << number(10, [nanoseconds("taken_ns") - nanoseconds("started_ns"), 0].max)
      out << message(11, value_type("space", "bytes")) << number(12, info.interval || 0) << number(14, string("inuse_space"))
      @own ? out << number(13, string(JSON.generate(@profile.meta))) : out
    end

    def types
      return TYPES.first(BOTH.size) unless @own

      @holders ? TYPES + PprofHolders::TYPES.zip(HELD_UNITS) : TYPES
    end

    def nanoseconds(field)
      value = @profile.meta[field]
      value.is_a?(Integer) ? value.clamp(0, VALUE_MAX) : 0
    end

    def value_type(type, unit)
      number(1, string(type)) + number(2, string(unit))
    end

    def sample(row)
      list = @lists[row[Columns::STACK]] ||= message(1, location_ids(row[Columns::STACK]).map { |id| @numbers[id] }.join)
      message(2, list + message(2, values(row).map { |value| @numbers[value] }.join) + labels(row))
    end

    def location_ids(handle)
      ids = @stacks.frame_ids(handle)
      ids.empty? ? [no_stack] : ids.map { |id| location(id) }
    end

    def values(row)
      both = rounded(row, BOTH)
      return both unless @own

      none = [0] * BOTH.size
      both.dup.concat(rounded(row, NEXT), row[Columns::MALLOC] ? none + both : both + none, rounded(row, LAST), @no_rows || [])
    end

    # Its stack is references, its values are the last; its labels are class, type and kind, and which row it is of.
    def held_sample(held, number)
      list = message(1, held_locations(held).map { |id| @numbers[id] }.join)
      values = [0] * TYPES.size + [held.objects, held.space, held.variance].map { |value| whole(value) }
      message(2, list + message(2, values.map { |value| @numbers[value] }.join) + held_labels(held) + label(PprofHolders::ROW, nil, number, "count"))
    end

    def held_labels(held)
      text_label(PprofHolders::CLASS, held.class_name) + HELD_LABELS.map { |column| label_of(column, held.row[column.index]) }.join + set_labels(held.row[Columns::LABEL_SET])
    end

    HELD_LABELS = Columns::LABELS.select { |column| %i[type malloc].include?(column.name) }.freeze

    # From the object up to the root. What was not reached has no object to tell of.
    def held_locations(held)
      node = held.node
      ids = @holders.parent(node).zero? ? [] : [end_location(held)]
      until node.zero?
        ids << edge_location(node)
        node = @holders.parent(node)
      end
      ids
    end

    def end_location(held)
      malloc = held.row[Columns::MALLOC]
      name = malloc ? ClassMix::MALLOC : held.class_name
      (@ends ||= {})[[held.node, malloc]] ||= holder_location(name.empty? ? NO_CLASS : name, malloc ? PprofHolders::BLOCK : PprofHolders::OBJECT, "", 0)
    end

    # One for each node.
    def edge_location(node)
      edge = @holders.edge(node)
      (@edges ||= {})[node] ||= holder_location(edge.to_s, edge.kind, edge.path, edge.line)
    end

    # Its number, which its function has too, is past those of frames.
    def holder_location(name, kind, path, line)
      id = @stacks.frame_count + 1 + (@holder_count += 1)
      add_function(id, string(name), string(kind), path.empty? ? 0 : string(path))
      add_location(id, RUBY_MAPPING, 0, id, line)
      id
    end

    NO_CLASS = "(object)"
    private_constant :NO_CLASS, :HELD_LABELS

    def rounded(row, columns)
      columns.map { |column| whole(row[column.index]) }
    end

    def whole(value)
      value.round.clamp(0, VALUE_MAX)
    rescue FloatDomainError
      VALUE_MAX
    end

    def labels(row)
      values = row.values_at(*LABEL_INDEXES, Columns::LABEL_SET)
      @labels[values] ||= Columns::LABELS.each_with_index.map { |column, place| label_of(column, values[place]) }.join + set_labels(values.last)
    end

    # What the program has set.
    def set_labels(reference)
      Labels.parse(@profile.text(reference)).map { |name, value| label(name, string(value)) }.join
    end

    # Nothing of what a reader takes for granted.
    def label_of(column, value)
      case column.holds
      when :text then text_label(column.label, value)
      when :flag then value ? label(column.label, string(column.name.to_s)) : ""
      else value == column.absent ? "" : label(column.label, nil, value.clamp(0, VALUE_MAX), column.unit)
      end
    end

    def text_label(key, reference)
      text = @profile.text(reference)
      text.empty? ? "" : label(key, string(text))
    end

    # The unit is what makes a label of 0 one.
    def label(key, text, number = 0, unit = nil)
      message(3, number(1, string(key)) + number(2, text || 0) + number(3, number) + (unit ? number(4, string(unit)) : ""))
    end

    def location(frame)
      @locations[frame] ||= begin
        id = @locations.size + 1
        @locations[frame] = id
        label, path, absolute_path, line, address = @stacks.fields(frame)
        if address > 0
          native_location(id, label, path, address)
        else
          add_location(id, RUBY_MAPPING, 0, function(label, absolute_path.empty? ? path : absolute_path), line)
        end
        id
      end
    end

    # Its id is past those of the others, as the sampler has it.
    def no_stack
      @no_stack ||= begin
        id = @stacks.frame_count + 1
        add_function(id, string(Stacks::NO_STACK), 0, 0)
        add_location(id, RUBY_MAPPING, 0, id, 0)
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
