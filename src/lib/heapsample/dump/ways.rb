# frozen_string_literal: true

module HeapSample
  module Dump
    # Makes Holders of a Search: ways of the same names are one, and what repeats in a way is one step.
    class Ways
      # Nodes with a smaller part of all bytes are left out: what is below them ends at the node above.
      SHARE_LEAST = 1 / 20_000.0
      # References in a row that repeat together.
      PERIOD_MOST = 3
      # A longer way ends here.
      DEPTH_MOST = 200

      # The Holders; nil if nothing has any bytes.
      attr_reader :holders

      # +names+: EdgeNames; +table+: rows of the profile; +class_names+: of each row.
      def initialize(graph, search, names, table, class_names)
        @graph, @search, @names, @table, @class_names = graph, search, names, table, class_names
        @parents, @kinds, @edges, @depths, @linked, @folded, @entries = [0], [nil], [nil], [0], [0], [false], [nil]
        @below, @roots = {}, {}
        @nodes = Array.new(graph.size, 0)
        search.order.each { |number| @nodes[number] = node_of(number) }
        @holders = make
      end

      # The references on the way to an object: an Array of Edge, the root first.
      def path(number) = @holders.path(@places[@nodes[number]])

      private

      def node_of(number)
        parent = @search.parents[number]
        return root(Search::ROOTS.fetch(category = @search.categories[number]) { "(#{category})" }) if parent.zero?

        child(@nodes[parent], @names.number(parent, number)).tap { |node| count(node, number) }
      end

      def root(name) = @roots[name] ||= add(0, nil, Edge.new(name, Edge::ROOT))

      # The node below +node+ for a name, or the node that has it already, where names repeat.
      def child(node, kind)
        again = repeated(node, kind)
        return @below[(node << 32) | kind] ||= add(node, kind, @names.edges[kind]) unless again

        @folded[again] = true
        again
      end

      # With a period of three: the last names are a b c a b, and c comes.
      def repeated(node, kind)
        return node if @depths[node] >= DEPTH_MOST

        before = []
        one = node
        1.upto(PERIOD_MOST) do |period|
          before << @kinds[one]
          return one if @kinds[one] == kind && (0...period - 1).all? { |at| before[at] == kind_above(node, at + period) }

          one = @parents[one]
        end
        nil
      end

      def kind_above(node, levels)
        levels.times { node = @parents[node] }
        @kinds[node]
      end

      def add(parent, kind, edge)
        @parents << parent
        @kinds << kind
        @edges << edge
        @depths << @depths[parent] + 1
        @linked << 0
        @folded << false
        @entries << nil
        @parents.size - 1
      end

      # A node has the entries of a single container.
      def count(node, number)
        @linked[node] += 1
        @entries[node] = @linked[node] == 1 ? @graph.entries[number] : nil
      end

      def make
        reached = @parents.size
        missed = root(Roots::NOT_REACHED) if @search.order.size < @graph.size - 1
        (1...@graph.size).each { |number| @nodes[number] = missed unless @search.reached?(number) } if missed
        keep(reached)
        Holders.new(@kept.map { |node| node.zero? ? 0 : @places[@parents[node]] }, @kept.map { |node| edge(node) }, held, @kept.map { |node| node.zero? ? nil : @linked[node] })
      end

      # Which nodes stay, and the place of each among these.
      def keep(_)
        bytes = Array.new(@parents.size, 0)
        (1...@graph.size).each { |number| bytes[@nodes[number]] += @graph.bytes[number] }
        (bytes.size - 1).downto(1) { |node| bytes[@parents[node]] += bytes[node] }
        least = bytes[0] * SHARE_LEAST
        @kept = [0]
        @places = Array.new(@parents.size, 0)
        (1...bytes.size).each do |node|
          next @places[node] = @places[@parents[node]] unless bytes[node] >= least || @parents[node].zero?

          @places[node] = @kept.size
          @kept << node
        end
      end

      def edge(node)
        found = @edges[node] or return
        return found if found.root? || !(@folded[node] || @entries[node])

        Edge.new(found.name, found.kind, found.path, found.line, repeats: (@linked[node] if @folded[node]), entries: (@entries[node] unless @folded[node]))
      end

      def held
        sums = {}
        (1...@graph.size).each do |number|
          sum = sums[(@places[@nodes[number]] << 32) | @graph.rows[number]] ||= [0, 0]
          sum[0] += 1
          sum[1] += @graph.bytes[number]
        end
        sums.map do |key, (objects, bytes)|
          row = key & 0xffff_ffff
          Holders::Held.new(@table[row], key >> 32, @class_names[row], objects, bytes, 0)
        end
      end
    end
  end
end
