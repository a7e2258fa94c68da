# frozen_string_literal: true

module HeapSample
  module Dump
    # The number of the object at an address: from 1, in the order of the dump.
    #
    # Objects lie in pages, in slots of one size.  So an object is found by its page and its slot, which needs less memory
    # than a Hash of all addresses: an array for each page.  The size of the slots is the greatest common divisor of the
    # distances that a page has.
    class PageIndex
      # Bytes of a page, as a power of two: all objects in it have one slot size, whatever the version of Ruby.
      SHIFT = 14
      # Slots for each object of a page; a file that is no dump of a heap could have any distances.
      SPARSE_MOST = 64

      # +addresses+: yields each address in its order, and something else.
      def initialize(addresses)
        @pages = {}
        @others = {}
        @first = 1
        waiting = []
        page = nil
        addresses.each do |address,|
          if address >> SHIFT != page
            flush(page, waiting)
            page = address >> SHIFT
          end
          waiting << address
        end
        flush(page, waiting)
      end

      # call-seq:
      #   index[address] -> Integer
      #
      # 0 if there is no object.
      def [](address)
        start, size, slots = @pages[address >> SHIFT]
        return @others.fetch(address, 0) unless start

        distance = address - start
        return @others.fetch(address, 0) if distance.negative? || distance % size != 0

        found = slots[distance / size]
        found && found != 0 ? found : @others.fetch(address, 0)
      end

      private

      def flush(page, addresses)
        return if addresses.empty?

        start, last = addresses.minmax
        size = addresses.inject(0) { |divisor, address| divisor.gcd(address - start) }
        size = 1 if size.zero?
        if @pages.key?(page) || (last - start) / size > SPARSE_MOST * addresses.size
          addresses.each_with_index { |address, index| @others[address] ||= @first + index }
        else
          @pages[page] = [start, size, slots(addresses, start, size, last)]
        end
        @first += addresses.size
        addresses.clear
      end

      def slots(addresses, start, size, last)
        slots = Array.new((last - start) / size + 1, 0)
        addresses.each_with_index { |address, index| slots[(address - start) / size] = @first + index }
        slots
      end
    end
  end
end
