# frozen_string_literal: true

module HeapSample
  module Tool
    # What retains memory in many processes: paths with the same names are one, and what they retain is added up.
    # What a profile without a walk has is not walked, so that the parts of a row still are the row.
    #
    # Rows belong to a Merge, and are compared by identity.
    class MergedHolders
      NODES_MAX = 200_000
      NOT_WALKED = Edge.new("(not walked)", Edge::ROOT)
      EVICTED = Edge.new("(evicted)", Edge::ROOT)
      # What is kept of a row by a node, and how much of that is of no walk.
      Sum = Struct.new(:objects, :space, :variance)

      def initialize
        @parents = [0]
        @edges = [nil]
        @nodes = {}
        @sums = {}.compare_by_identity
        @walked = false
      end

      # Of a profile: +rows+ has for each of its rows the row of the merge.
      def add(profile, rows)
        return add_not_walked(profile, rows) unless profile.holders

        @walked = true
        nodes = {0 => 0}
        profile.holders.each do |held|
          add_part(rows[held.row], node_of(profile.holders, held.node, nodes), held.class_name, held.objects, held.space, held.variance)
        end
      end

      # A row of the merge has become part of another.
      def move(row, into)
        @sums.delete(row)&.each { |(node, class_name), sum| add_part(into, node, class_name, *sum) }
      end

      # Holders of these rows; nil if none of the profiles had a walk.
      def holders
        return unless @walked

        all = @sums.flat_map do |row, parts|
          parts.map { |(node, class_name), sum| Holders::Held.new(row, node, class_name, *sum) }
        end
        Holders.new(@parents, @edges, all)
      end

      private

      def add_part(row, node, class_name, objects, space, variance)
        sum = (@sums[row] ||= {})[[node, class_name]] ||= Sum.new(0.0, 0.0, 0.0)
        sum.objects += objects
        sum.space += space
        sum.variance += variance
      end

      def add_not_walked(profile, rows)
        node = nil
        rows.each do |own, row|
          objects, space, variance = %i[OBJECTS SPACE VARIANCE].map { |name| both(own, name) }
          next unless space > 0

          add_part(row, node ||= intern(0, NOT_WALKED), profile.text(own[Columns::CLASS]), objects, space, variance)
        end
      end

      # Live, and young.
      def both(row, name) = %i[INUSE YOUNG].sum { |part| row[Columns.const_get(:"#{part}_#{name}")] }

      def node_of(holders, node, known)
        known[node] ||= intern(node_of(holders, holders.parent(node), known), holders.edge(node))
      end

      def intern(parent, edge)
        @nodes[[parent, edge.name, edge.kind, edge.path, edge.line, edge.repeats]] ||= begin
          return intern(0, EVICTED) if @edges.size >= NODES_MAX && edge != EVICTED

          @parents << parent
          @edges << edge.of_several
          @edges.size - 1
        end
      end
    end
  end
end
