# frozen_string_literal: true

module HeapSample
  module Dump
    # The references of a dump: which objects refer to which.  Object 0 is none, or the root of all.
    class Graph
      # Entries of containers are known from so many on.
      ENTRIES_LEAST = 8

      # Bytes of each object; row of each; entries of a container by its number; and how many references there are.
      attr_reader :bytes, :rows, :entries, :edges

      def initialize
        @roots = {}
        @targets = []
        @starts = [0, 0]
        @entries = {}
      end

      # Notes the references of a category of roots, as a dump has them.
      def root(category, references)
        list = @roots[category] ||= []
        Record.each_address(references) { |address| list << address }
      end

      # Notes an object, the next in order.
      def object(fields, references)
        Record.each_address(references) { |address| @targets << address } if references
        @starts << @targets.size
        entries = fields["length"] || fields["size"]
        @entries[@starts.size - 2] = entries if entries.is_a?(Integer) && entries >= ENTRIES_LEAST
      end

      # call-seq:
      #   resolve(objects, classes) -> self
      #
      # Replaces addresses by numbers.  +classes+: the address of the class of each row, or nil: an object refers to its class.
      def resolve(objects, classes)
        index = @index = PageIndex.new(objects)
        targets = @targets
        targets.each_index { |at| targets[at] = index[targets[at]] }
        @roots.transform_values! { |list| list.map { |address| index[address] }.reject(&:zero?).uniq }
        @class_of_row = classes.map { |address| address ? index[address] : 0 }
        @rows, @bytes = [0], [0]
        objects.each do |_, row, bytes|
          @rows << row
          @bytes << bytes
        end
        @edges = targets.size
        self
      end

      # How many objects there are, and one.
      def size = @bytes.size

      # Category => numbers of the objects that it refers to.
      attr_reader :roots

      # The number of the class of an object; 0 if it has none.
      def class_of(number) = @class_of_row[@rows[number]]

      # The number of the object at an address; 0 if there is none.
      def number_at(address) = @index[address]

      # Yields the number of each object that an object refers to; its class is the last.
      def each_reference(number)
        targets = @targets
        at, to = @starts[number], @starts[number + 1]
        while at < to
          target = targets[at]
          yield target unless target.zero?
          at += 1
        end
        target = @class_of_row[@rows[number]]
        yield target unless target.zero?
      end
    end
  end
end
