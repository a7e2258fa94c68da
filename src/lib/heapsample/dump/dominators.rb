# frozen_string_literal: true

module HeapSample
  module Dump
    # What would be freed if an object were: the objects that it dominates, which are reached through it alone.
    #
    # Objects are numbered by a search in depth from the root, and have these numbers here.  The algorithm is the one of
    # Lengauer and Tarjan (1979, TOPLAS 1:121-141) for semidominators, with the step of Georgiadis (2005, thesis) for
    # dominators: the nearest ancestor in the tree of dominators that is not below the semidominator.
    class Dominators
      # The dominator of each number; of the root itself.
      attr_reader :of

      # +parents+: of each number, the one from which it was found; 0 is the root.  The block yields the predecessors of a number.
      def initialize(parents, &predecessors)
        @ancestors = parents.dup
        @labels = Array.new(parents.size) { |index| index }
        semi = semidominators(parents, predecessors)
        @ancestors = @labels = nil
        @of = dominators(parents, semi)
      end

      # call-seq:
      #   sum(values) -> values
      #
      # Adds to each value all values that it dominates.
      def sum(values)
        (values.size - 1).downto(1) { |number| values[@of[number]] += values[number] }
        values
      end

      private

      def semidominators(parents, predecessors)
        semi = Array.new(parents.size) { |index| index }
        (parents.size - 1).downto(1) do |number|
          least = parents[number]
          predecessors.call(number) do |from|
            label = from <= number ? from : least_above(from, number + 1)
            least = label if label < least
          end
          @labels[number] = semi[number] = least
        end
        semi
      end

      # The least semidominator on the way up from +number+ as far as it is done: down to the number +last+.  Ways are shortened.
      def least_above(number, last)
        return @labels[number] if @ancestors[number] < last

        way = []
        while @ancestors[number] >= last
          way << number
          number = @ancestors[number]
        end
        least, top = @labels[number], @ancestors[number]
        way.reverse_each do |below|
          least = @labels[below] if @labels[below] < least
          @labels[below] = least
          @ancestors[below] = top
        end
        least
      end

      def dominators(parents, semi)
        of = parents.dup
        1.upto(parents.size - 1) do |number|
          dominator = of[number]
          dominator = of[dominator] while dominator > semi[number]
          of[number] = dominator
        end
        of
      end
    end
  end
end
