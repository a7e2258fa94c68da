# frozen_string_literal: true

require "json"

module HeapSample
  module Tool
    # Writes a HeapSample::Profile as pprof, byte for byte what the sampler itself
    # would write of it (doc/format.md; src/heap_sampler/encode_pprof.c): samples
    # first, then what they were found to need.  A profile of another program has
    # no samples, variances or settings; it gets the four sample types that all know.
    #
    #   PprofWriter.new(profile).write(io)
    class PprofWriter
      # type, unit, column.  Of slots alone and of malloc alone, the first four again.
      FIRST = [
        ["alloc_objects", "count", Columns::ALLOC + 1], ["alloc_space", "bytes", Columns::ALLOC + 2],
        ["inuse_objects", "count", Columns::INUSE + 1], ["inuse_space", "bytes", Columns::INUSE + 2]
      ].freeze
      NEXT = [
        ["inuse_samples", "count", Columns::INUSE], ["alloc_samples", "count", Columns::ALLOC],
        ["inuse_var", "bytes2", Columns::INUSE + 3], ["alloc_var", "bytes2", Columns::ALLOC + 3],
        ["young_objects", "count", Columns::YOUNG + 1], ["young_space", "bytes", Columns::YOUNG + 2],
        ["dead_objects", "count", Columns::DEAD + 1], ["dead_space", "bytes", Columns::DEAD + 2],
        ["dead_gcs", "count", Columns::DEAD_GCS]
      ].freeze
      SIDES = %w[slots malloc].flat_map { |side| FIRST.map { |type, unit, _| ["#{side}_#{type}", unit] } }.freeze
      LAST = [
        ["inuse_memsize", "bytes", Columns::MEMSIZE], ["inuse_resident", "bytes", Columns::RESIDENT],
        ["dead_samples", "count", Columns::DEAD], ["dead_var", "bytes2", Columns::DEAD + 3]
      ].freeze
      TYPES = [*FIRST, *NEXT, *SIDES, *LAST].map { |type, unit, _| [type, unit] }.freeze
      COLUMNS = [*FIRST, *NEXT].map(&:last).freeze
      # Strings that the sampler writes into every file, in this order.
      FIXED = ["", "count", "bytes", "bytes2", "space", "class", "type", "slot_size", "gc_birth", "thread",
               *[*FIRST, *NEXT].map(&:first), *SIDES.map(&:first), *LAST.map(&:first), "kind", "malloc", "library"].freeze

      VALUE_MAX = (1 << 63) - 1
      RUBY_MAPPING = 1
      # Where the output is handed on.
      BUFFER = 1 << 16

      def initialize(profile)
        @profile = profile
        @stacks = profile.stacks
        @own = !profile.meta.empty?
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
        @profile.table.each do |row|
          out << sample(row)
          out = io.write(out) && "".b if out.bytesize > BUFFER
        end
        io.write(out, mappings, @location_bytes, @function_bytes, strings)
      end

      private

      def head
        FIXED.each { |text| string(text) } if @own
        out = (@own ? TYPES : TYPES.first(FIRST.size)).map { |type, unit| message(1, value_type(type, unit)) }.join
        out << message(3, number(1, RUBY_MAPPING) + number(7, 1) + number(8, 1) + number(9, 1))
        info = @profile.info
        out << number(9, nanoseconds("started_ns")) << number(10, [nanoseconds("taken_ns") - nanoseconds("started_ns"), 0].max)
        out << message(11, value_type("space", "bytes")) << number(12, info.interval || 0) << number(14, string("inuse_space"))
        @own ? out << number(13, string(JSON.generate(@profile.meta))) : out
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
        first = FIRST.map { |_, _, column| rounded(row[column]) }
        return first unless @own

        sides = row[Columns::MALLOC] ? [0] * FIRST.size + first : first + [0] * FIRST.size
        first.concat(NEXT.map { |_, _, column| rounded(row[column]) }, sides, LAST.map { |_, _, column| rounded(row[column]) })
      end

      def rounded(value)
        value.round.clamp(0, VALUE_MAX)
      rescue FloatDomainError
        VALUE_MAX
      end

      def labels(row)
        key = [row[Columns::CLASS], row[Columns::TYPE], row[Columns::SLOT_SIZE], row[Columns::THREAD], row[Columns::BIRTH_GC],
               row[Columns::LIBRARY], row[Columns::MALLOC]]
        @labels[key] ||= new_labels(*key)
      end

      def new_labels(class_name, type, slot_size, thread, birth, library, malloced)
        out = text_label("class", class_name) + text_label("type", type)
        if malloced
          out << label("kind", string("malloc")) << text_label("library", library)
        elsif @own
          out << label("slot_size", nil, slot_size, "bytes")
        end
        out << label("gc_birth", nil, birth.clamp(0, VALUE_MAX), "count") if birth
        out << label("thread", nil, thread, "count") if thread > 0
        out
      end

      def text_label(key, reference)
        text = @profile.text(reference)
        text.empty? ? "".b : label(key, string(text))
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
end
