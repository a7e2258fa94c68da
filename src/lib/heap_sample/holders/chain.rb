# frozen_string_literal: true

module HeapSample
  # The way from a root to an object as a person reads it: a list of steps.  The short form passes through collections of
  # anything (whose they are is the edge before); in either, what repeats is one step, so that a list of a million links is
  # "@next of Node ×1,000,000".
  module Chain
    # Edges in a row that repeat together: of a list one, of a tree with arrays two, …
    PERIOD_MOST = 4

    # Edges that are one step, and how often they come one after the other.
    Step = Struct.new(:edges, :repeats) do
      # What tells steps apart: a list is the same list however long it is.
      def key = (@key ||= edges.map(&:key))
      def first = edges.first
      def root? = first.root?
    end

    module_function

    # call-seq:
    #   Chain.of(edges, full: false) -> Array of Step
    #
    # +edges+: the root first, as Holders#path gives them.
    def of(edges, full: false)
      edges = edges.reject(&:passed_through?) unless full
      steps = []
      from = 0
      while from < edges.size
        period, count = run(edges, from)
        steps << Step.new(edges[from, period], edges[from, period * count].sum(&:repeats) / period)
        from += period * count
      end
      merge(steps)
    end

    # How many edges from an index on repeat, and how often.
    def run(edges, from)
      1.upto([PERIOD_MOST, (edges.size - from) / 2].min) do |period|
        part = edges[from, period].map(&:key)
        count = 1
        count += 1 while edges[from + count * period, period].map(&:key) == part
        return [period, count] if count > 1
      end
      [1, 1]
    end

    # Runs of one step that follow each other, as "×3" and "×4" of a file, are one.
    def merge(steps)
      steps.chunk_while { |one, other| one.key == other.key }.map do |same|
        same.size == 1 ? same.first : Step.new(same.first.edges, same.sum(&:repeats))
      end
    end

    private_class_method :run, :merge
  end
end
