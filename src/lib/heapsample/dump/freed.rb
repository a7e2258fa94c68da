# frozen_string_literal: true

module HeapSample
  module Dump
    # What would be freed by emptying one object: the objects that retain most, as a heap walk lists them.
    module Freed
      # Parts: of all bytes, for an object to be listed; of the bytes of one above it, from which on it is left out.
      SHARE_LEAST = 0.01
      OWN_SHARE = 0.9
      MOST = 10
      # Code cannot let go of these.
      NEVER = %w[T_CLASS T_MODULE T_ICLASS T_IMEMO].freeze
      STACKS = %w[Thread Ractor].freeze

      module_function

      # call-seq:
      #   Freed.of(sizes, graph, types, names) { |number| path } -> Array of Hash
      #
      # As "freed" of a walk.  +types+ and +names+: of each row; the block returns the Edges on the way to an object.
      def of(sizes, graph, types, names)
        chosen(sizes, graph, types, names).map do |number|
          path = yield(number)
          {"chain" => path.map(&:name), "path" => path.last.path, "line" => path.last.line, "objects" => sizes.objects[number] - 1,
           "space" => sizes.bytes[number] - graph.bytes[number], "var" => 0}
        end.sort_by.with_index { |one, index| [-one["space"], index] }
      end

      # Numbers of objects, those that retain most first.
      def chosen(sizes, graph, types, names)
        least = graph.bytes.sum * SHARE_LEAST
        largest = (1...graph.size).select { |number| sizes.bytes[number] >= least }.sort_by { |number| [-sizes.bytes[number], number] }
        # What is listed above an object: what dominates an object is larger, so it comes first.
        above = {}
        largest.each_with_object([]) do |number, chosen|
          break chosen if chosen.size == MOST

          above[number] = above[sizes.dominator(number)]
          row = graph.rows[number]
          next if NEVER.include?(types[row]) || STACKS.include?(names[row]) || names[row].start_with?("(hidden") || sizes.bytes[number] - graph.bytes[number] < least

          next if above[number] && sizes.bytes[number] >= OWN_SHARE * sizes.bytes[above[number]]

          chosen << number
          above[number] = number
        end
      end

      private_class_method :chosen
    end
  end
end
