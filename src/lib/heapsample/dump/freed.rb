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
      #   Freed.of(graph, types, names) -> Array of RetainedSizes::Size
      #
      # +types+ and +names+: of each row.
      def of(graph, types, names)
        least = graph.bytes.sum * SHARE_LEAST
        # What is listed above an object: what dominates an object is larger, so it comes first.
        above = {}
        chosen = RetainedSizes.new(graph).largest(least).each_with_object([]) do |size, list|
          break list if list.size == MOST

          number = size.number
          above[number] = above[size.dominator]
          next if never?(types[graph.rows[number]], names[graph.rows[number]]) || size.bytes - graph.bytes[number] < least
          next if above[number] && size.bytes >= OWN_SHARE * above[number].bytes

          list << size
          above[number] = size
        end
        chosen.sort_by { |size| [graph.bytes[size.number] - size.bytes, size.number] }
      end

      # call-seq:
      #   Freed.values(size, graph, path) -> Hash
      #
      # As "freed" of a walk; +path+: the Edges on the way to the object.
      def values(size, graph, path)
        {"chain" => path.map(&:name), "path" => path.last.path, "line" => path.last.line, "objects" => size.objects - 1,
         "space" => size.bytes - graph.bytes[size.number], "var" => 0}
      end

      def never?(type, name) = NEVER.include?(type) || STACKS.include?(name) || name.start_with?("(hidden")

      private_class_method :never?
    end
  end
end
