# frozen_string_literal: true

module HeapSample
  module Dump
    # The shortest way from the roots to each object, in references.
    #
    # What the stack of a thread or fiber refers to may be there for a moment only, so stacks are searched when all else that is reached
    # is known.  Words on machine stacks look like references, and may be none; so these roots come last.
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

      # +stacks+: the rows of threads and fibers => true.
      def initialize(graph, stacks = {})
        @graph = graph
        @parents = Array.new(graph.size, nil)
        @categories = {}
        @order = []
        names = graph.roots.keys.sort_by.with_index { |name, index| [name == LAST ? 1 : 0, ROOTS.keys.index(name) || 2, index] }
        others, last = names.partition { |name| name != LAST }
        begin_at(others)
        found = follow(0, stacks)
        at = @order.size
        found.each { |number| enter(number) }
        follow(at)
        at = @order.size
        begin_at(last)
        follow(at)
      end

      # Was an object reached?
      def reached?(number) = !@parents[number].nil?

      private

      # Follows the references of what was found, from +at+ on. Objects of +later+ rows are left, and returned.
      def follow(at, later = nil)
        order, rows, left = @order, @graph.rows, []
        while at < order.size
          number = order[at]
          later && later[rows[number]] ? left << number : enter(number)
          at += 1
        end
        left
      end

      def enter(from)
        parents, order = @parents, @order
        @graph.each_reference(from) do |number|
          next if parents[number]

          parents[number] = from
          order << number
        end
      end

      def begin_at(categories)
        categories.each do |category|
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
end
