# frozen_string_literal: true

module HeapSample
  module Dump
    # All objects: the address, row and bytes of each, in 16 bytes.
    class Objects
      include Enumerable

      # Objects until they are packed.
      PIECE = 1 << 14
      # Larger objects are few, and apart.
      LARGE = (1 << 32) - 1

      def initialize
        @addresses, @rows, @bytes = [], [], []
        @packed_addresses, @packed_rows, @packed_bytes = "".b, "".b, "".b
        @large = {}
      end

      def add(address, row, bytes)
        if bytes >= LARGE
          @large[size] = bytes
          bytes = LARGE
        end
        @addresses << address
        @rows << row
        @bytes << bytes
        pack if @rows.size == PIECE
      end

      def finish
        pack
        self
      end

      # How many there are.
      def size = (@packed_rows.bytesize / 4) + @rows.size

      # The address of an object by its number, from 1.
      def address(number) = @packed_addresses.unpack1("Q", offset: (number - 1) * 8)

      # Yields address, row and bytes of each, in the order of the dump.
      def each
        return to_enum unless block_given?

        (0...size).step(PIECE) do |from|
          rows, bytes = [@packed_rows, @packed_bytes].map { |packed| packed.byteslice(from * 4, PIECE * 4).unpack("L*") }
          @packed_addresses.byteslice(from * 8, PIECE * 8).unpack("Q*").each_with_index do |address, index|
            yield address, rows[index], bytes[index] == LARGE ? @large[from + index] : bytes[index]
          end
        end
      end

      def inspect = "#<#{self.class} #{size}>"

      private

      def pack
        @packed_addresses << @addresses.pack("Q*")
        @packed_rows << @rows.pack("L*")
        @packed_bytes << @bytes.pack("L*")
        [@addresses, @rows, @bytes].each(&:clear)
      end
    end
  end
end
