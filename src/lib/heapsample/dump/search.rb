# frozen_string_literal: true

module HeapSample
  module Dump
    # The shortest way from the roots to each object, in references.
    #
    # Words on machine stacks look like references, and may be none; so these roots come last, when what the others reach is known.
    class Search
      # Categories of roots in the order in which they are searched, and what they are called.
      ROOTS = {
        "global_tbl" => "(global variables)", "vm" => "(VM)", "end_proc" => "(at_exit)", "finalizers" => "(finalizer)", "global_symbols" => "(symbols)",
        "object_id" => "(object ids)", "machine_context" => "(machine stack)"
      }.freeze
      LAST = "machine_context"

      # The object from which each was found, 0 of a root and of what was not reached; the category by which a root's object was
      # found; and all objects that were reached, in the order of the search.
      attr_reader :parents, :categories, :order

      def initialize(graph)
        @graph = graph
        @parents = Array.new(graph.size, nil)
        @categories = {}
        @order = []
        names = graph.roots.keys.sort_by.with_index { |name, index| [name == LAST ? 1 : 0, ROOTS.keys.index(name) || 2, index] }
        others, last = names.partition { |name| name != LAST }
        [others, last].each { |some| search(some) }
      end

      # Was an object reached?
      def reached?(number) = !@parents[number].nil?

      private

      def search(categories)
        at = @order.size
        categories.each { |category| begin_at(category) }
        parents, order = @parents, @order
        while at < order.size
          from = order[at]
          @graph.each_reference(from) do |number|
            next if parents[number]

            parents[number] = from
            order << number
          end
          at += 1
        end
      end

      def begin_at(category)
        @graph.roots[category].each do |number|
          next if @parents[number]

          @parents[number] = 0
          @categories[number] = category
          @order << number
        end
      end
    end
  end
end
