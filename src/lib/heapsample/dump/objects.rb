# frozen_string_literal: true

module HeapSample
  module Dump
    # The addresses of all objects, and the row of each: 12 bytes for each object.
    class Objects
      include Enumerable

      # Objects until they are packed.
      PIECE = 1 << 14

      def initialize
        @addresses, @rows = [], []
        @packed_addresses, @packed_rows = "".b, "".b
      end

      def add(address, row)
        @addresses << address
        @rows << row
        pack if @rows.size == PIECE
      end

      def finish
        pack
        self
      end

      # How many there are.
      def size = (@packed_rows.bytesize / 4) + @rows.size

      # Yields address and row of each, in the order of the dump.
      def each
        return to_enum unless block_given?

        (0...size).step(PIECE) do |from|
          addresses = @packed_addresses.byteslice(from * 8, PIECE * 8).unpack("Q*")
          @packed_rows.byteslice(from * 4, PIECE * 4).unpack("L*").each_with_index { |row, index| yield addresses[index], row }
        end
      end

      def inspect = "#<#{self.class} #{size}>"

      private

      def pack
        @packed_addresses << @addresses.pack("Q*")
        @packed_rows << @rows.pack("L*")
        @addresses.clear
        @rows.clear
      end
    end
  end
end
