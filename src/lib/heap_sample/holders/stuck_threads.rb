# frozen_string_literal: true

module HeapSample
  # Threads that can never wake: they wait, without a time limit, for an object that nobody else has.  A walk tells them:
  # each place where some wait, what for, how many, and what they keep.  A file tells of those that keep something that was sampled.
  class StuckThreads
    ROOT = "(threads that can never wake)"

    # +edge+: "waits for Queue", with the file and line; +count+: how many threads; +estimate+: what
    # they keep.
    Place = Struct.new(:edge, :count, :estimate) do
      # JSON-ready.
      def to_h = {waits_for: edge.name, path: edge.path, line: edge.line, threads: count, **estimate.to_h}.compact
    end

    # call-seq:
    #   StuckThreads.of(holders) -> Array of Place
    #
    # The largest first; none where nobody is stuck, or no walk was made.
    def self.of(holders)
      return [] unless holders

      found = {}
      (1...holders.size).each do |node|
        next unless holders.parent(node).nonzero? && holders.parent(holders.parent(node)).zero? && holders.edge(holders.parent(node)).name == ROOT

        found[node] = Place.new(holders.edge(node), holders.edge(node).repeats, Estimate.new)
      end
      holders.each { |held| found[below_root(holders, held.node)]&.estimate&.add(held.estimate) } unless found.empty?
      found.values.sort_by.with_index { |place, index| [-place.estimate.space, index] }
    end

    # The second node of a way.
    def self.below_root(holders, node)
      node = holders.parent(node) until node.zero? || holders.parent(holders.parent(node)).zero?
      node
    end
    private_class_method :below_root

    # Lines of text about them.
    def self.lines(places, layout)
      return [] if places.empty?

      count = places.sum(&:count)
      total = "#{layout.count(count)} thread#{"s" unless count == 1}"
      rows = places.map { |place| [layout.count(place.count), layout.size(place.estimate), layout.interval(place.estimate), layout.name(place.edge.name), where(place)] }
      [*layout.title("#{total} can never wake: nobody has what they wait for."),
       *layout.table([["threads", :right, 1], ["keep", :right], ["95% interval", :right, 2], ["what", :left], ["at", :left]], rows)]
    end

    def self.where(place) = place.edge.place || Layout::NOTHING
    private_class_method :where
  end
end
