# frozen_string_literal: true

module HeapSample
  module Dump
    # Strings with the same contents.  Only a hash of the contents is stored.
    class Duplicates
      # Strings that are alike: how many, their bytes together, the bytes of the text, and the row of the first of them: an index, and in Facts#duplicates the row itself.
      Group = Struct.new(:strings, :bytes, :text_bytes, :row) do
        # Bytes that a single string would save.
        def wasted = bytes - (bytes / strings)
        # JSON-ready.
        def to_h = {strings: strings, bytes: bytes, text_bytes: text_bytes, wasted_bytes: wasted}
      end

      def initialize
        @seen = {}
        @groups = []
      end

      # A String of that text and so many bytes of memory, of a row.
      def note(text, bytes, row)
        key = text.hash
        case (seen = @seen[key])
        when nil then @seen[key] = bytes << SHIFT | row
        when 0.. then again(key, seen, text).then { |group| add(group, bytes) }
        else add(@groups[-seen - 1], bytes)
        end
      end

      # Groups of two or more, those that waste most first.
      def groups = @groups.sort_by.with_index { |group, index| [-group.wasted, index] }

      # Frees what only #note needs.
      def finish = @seen = nil

      # Bits of a row.
      SHIFT = 32
      private_constant :SHIFT

      private

      def again(key, seen, text)
        @groups << Group.new(1, seen >> SHIFT, text.bytesize, seen & ((1 << SHIFT) - 1))
        @seen[key] = -@groups.size
        @groups.last
      end

      def add(group, bytes)
        group.strings += 1
        group.bytes += bytes
      end
    end
  end
end
