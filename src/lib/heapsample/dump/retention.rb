# frozen_string_literal: true

module HeapSample
  module Dump
    # What retains what, by the references of a dump: as a heap walk finds it, of all objects.
    class Retention
      # Objects that have a stack.
      STACKS = %w[Thread Fiber].freeze

      # The Holders of the profile.
      attr_reader :holders

      # +names+: the class of each row; +table+: rows of the profile.
      def initialize(graph, objects, rows, classes, names, table)
        began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        @graph = graph.resolve(objects, rows.classes.map { |address| address.hex if address.start_with?("0x") })
        types = names.each_index.map { |row| rows.type_name(row) }
        # One after the other: each needs much memory.
        sizes = Freed.of(graph, types, names)
        stacks = names.each_index.select { |row| STACKS.include?(names[row]) }.to_h { |row| [row, true] }
        ways = Ways.new(graph, search = Search.new(graph, stacks), EdgeNames.new(graph, rows, names, modules(classes), objects), table, names)
        @freed = sizes.map { |size| Freed.values(size, graph, ways.path(size.number)) }
        @holders = ways.holders
        @edges = graph.edges
        @visited = search.order.size
        @ns = ((Process.clock_gettime(Process::CLOCK_MONOTONIC) - began) * 1e9).round
      end

      # The values of a Walk.
      def walk = {"refused" => nil, "objects" => @visited, "edges" => @edges, "ns" => @ns, "freed" => @freed}

      private

      # The number of each class and module that has a name => the name.
      def modules(classes)
        names = {}
        classes.each_named { |address, name| names[@graph.number_at(address.hex)] = name }
        names
      end
    end
  end
end
