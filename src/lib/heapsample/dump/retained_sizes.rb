# frozen_string_literal: true

module HeapSample
  module Dump
    # What would be freed with each object: its bytes, and the bytes of all that is reached through it alone.
    class RetainedSizes
      # An object by its number: its bytes with all that it dominates, how many objects these are, and what dominates it: 0 is the root of
      # all.
      Size = Struct.new(:number, :bytes, :objects, :dominator)

      def initialize(graph)
        @graph = graph
        @order, parents = in_depth
        dominators = of(@order, parents)
        @bytes = dominators.sum(@order.map { |number| graph.bytes[number] })
        @objects = dominators.sum(Array.new(@order.size, 1))
        @dominators = dominators.of
      end

      # call-seq:
      #   largest(least) -> Array of Size
      #
      # Objects that retain so many bytes or more, the largest first.
      def largest(least)
        places = (1...@order.size).select { |place| @bytes[place] >= least }
        places.map { |place| Size.new(@order[place], @bytes[place], @objects[place], @order[@dominators[place]]) }.sort_by { |size| [-size.bytes, size.number] }
      end

      private

      # Objects in the order of a search in depth, 0 for the root of all first; and the place of the object from which each was found.
      def in_depth
        order, parents = [0], [0]
        @places = Array.new(@graph.size, nil)
        @places[0] = 0
        stack = @graph.roots.values.flatten.reverse.flat_map { |number| [number, 0] }
        until stack.empty?
          from, number = stack.pop, stack.pop
          next if @places[number]

          @places[number] = place = order.size
          order << number
          parents << from
          @graph.each_reference(number) { |one| stack.push(one, place) unless @places[one] }
        end
        [order, parents]
      end

      def of(order, parents)
        starts, list = predecessors(order)
        dominators = Dominators.new(parents) do |number, &block|
          at, to = starts[number], starts[number + 1]
          while at < to
            block.call(list[at])
            at += 1
          end
        end
        @places = nil
        dominators
      end

      # Of each place the places that refer to it: where they begin in a list, and the list.
      def predecessors(order)
        starts = Array.new(order.size + 1, 0)
        each_pair(order) { |_, to| starts[to + 1] += 1 }
        (1...starts.size).each { |at| starts[at] += starts[at - 1] }
        free = starts.dup
        list = Array.new(starts.last, 0)
        each_pair(order) do |from, to|
          list[free[to]] = from
          free[to] += 1
        end
        [starts, list]
      end

      def each_pair(order)
        places = @places
        @graph.roots.each_value { |list| list.each { |number| yield 0, places[number] } }
        place = 1
        while place < order.size
          @graph.each_reference(order[place]) { |number| yield place, places[number] }
          place += 1
        end
      end
    end
  end
end
