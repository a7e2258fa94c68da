# frozen_string_literal: true

module HeapSample
  module Dump
    # Sums objects that agree in class, type, slot size, line and generation: the rows of the profile, and the stacks of one
    # line that they have.
    class Rows
      # What code outside of a method is called.
      TOP_LEVEL = "(top level)"
      # What a line is called where an object's allocation was not traced.
      NOT_TRACED = "(not traced)"
      # Bits in the number that a row has within its class.
      TYPE_BITS, SLOT_BITS, GENERATION_BITS = 6, 10, 32
      SLOT_MOST = (1 << SLOT_BITS) - 1
      GENERATION_MOST = (1 << GENERATION_BITS) - 2
      private_constant :TYPE_BITS, :SLOT_BITS, :GENERATION_BITS, :SLOT_MOST

      # Of each row: how many objects, their bytes, the address of their class (a String) or what they are called without one.
      attr_reader :counts, :bytes, :classes

      def initialize
        @counts, @bytes, @classes, @keys = [], [], [], []
        @of_class = Hash.new { |rows, name| rows[name] = {} }
        @types = {}
        @places = {nil => 0}
        @texts = {"" => 0}
        @generations = []
      end

      # The index of the row of an object, which is added to it.
      def add(class_address, type, fields, memsize)
        place = (file = fields["file"]) ? place(file, fields["line"], fields["method"]) : 0
        generation = fields["generation"]
        number = ((((place << GENERATION_BITS) | (generation ? generation.clamp(0, GENERATION_MOST) + 1 : 0)) << TYPE_BITS | type(type)) << SLOT_BITS) |
                 [fields["slot_size"].to_i, SLOT_MOST].min
        row = (@of_class[class_address][number] ||= new_row(class_address, number))
        @counts[row] += 1
        @bytes[row] += memsize
        row
      end

      # The path and line of a row's allocation; nil if it was not traced.
      def place_of(row)
        place = @keys[row] >> (SLOT_BITS + TYPE_BITS + GENERATION_BITS)
        return if place.zero?

        @place_list ||= @places.keys
        @text_list ||= @texts.keys
        [@text_list[@place_list[place][0]], @place_list[place][1]]
      end

      # Objects whose allocation was traced.
      def traced = @counts.each_index.sum { |row| traced?(row) ? @counts[row] : 0 }
      def traced?(row) = (@keys[row] >> (SLOT_BITS + TYPE_BITS + GENERATION_BITS)).positive?
      # The largest GC count at an allocation, nil if none is known.
      def last_generation = @keys.filter_map { |key| generation(key) }.max

      # The type of a row: "T_STRING".
      def type_name(row) = (@type_list ||= @types.keys)[(@keys[row] >> SLOT_BITS) & ((1 << TYPE_BITS) - 1)]

      # Texts, frames and nodes, as NodeStacks takes them; node 1 is the one of objects that were not traced.
      def stacks
        texts = @texts.keys << NOT_TRACED
        frames = [texts.size - 1, 0, 0, 0, 0]
        @places.each_key { |place| frames.push(place[2], place[0], texts[place[0]].start_with?("/") ? place[0] : 0, place[1], 0) if place }
        [texts, frames, [0, 0] + Array.new(frames.size / Stacks::FRAME_FIELDS) { |index| [0, index] }.flatten]
      end

      # The rows of a profile, by number: one row for several numbers if their classes have one name, as singleton classes have.
      # +class_texts+: of each number, an index into the texts; +texts+: where the types go.
      def table(class_texts, texts)
        types = @types.keys.map { |type| texts << type and texts.size - 1 }
        known = {}
        Array.new(@counts.size) do |number|
          row = known[[class_texts[number], @keys[number]]] ||= columns(class_texts[number], types, @keys[number])
          [Columns::INUSE_SAMPLES, Columns::INUSE_OBJECTS].each { |at| row[at] += @counts[number] }
          [Columns::INUSE_SPACE, Columns::MEMSIZE, Columns::RESIDENT].each { |at| row[at] += @bytes[number] }
          row
        end
      end

      private

      def columns(class_text, types, key)
        Columns.row(class: class_text, type: types[(key >> SLOT_BITS) & ((1 << TYPE_BITS) - 1)], slot_size: key & SLOT_MOST, allocation_gc: generation(key),
                    stack: (key >> (SLOT_BITS + TYPE_BITS + GENERATION_BITS)) + 1, resident: 0, label_set: 0, library: 0)
      end

      def new_row(class_address, number)
        @counts << 0
        @bytes << 0
        @classes << class_address
        @keys << number
        @counts.size - 1
      end

      def generation(key) = ((key >> (SLOT_BITS + TYPE_BITS)) & ((1 << GENERATION_BITS) - 1)).then { |number| number - 1 if number.positive? }

      # A dump has some twenty types; more are nonsense.
      def type(name) = @types[name] || (@types.size < (1 << TYPE_BITS) - 1 ? @types[name] = @types.size : 0)

      def place(file, line, method)
        file, method = text(file), text(method || TOP_LEVEL)
        line = line.is_a?(Integer) ? line.clamp(0, PprofReader::LINE_MAX) : 0
        @places[[file, line, method]] ||= @places.size
      end

      def text(name)
        return 0 unless name.is_a?(String)

        @texts[name] || @texts.store(Printable.utf8(name.byteslice(0, Record::TEXT_MAX)), @texts.size)
      end
    end
  end
end
