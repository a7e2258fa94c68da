# frozen_string_literal: true

module HeapSample
  # What retains live memory: for each row the paths from the roots of the heap to its objects, and how much of the row
  # each path retains.  A walk over the heap found them (GC.sample_profile(why: true)).
  #
  # The ways are a tree: a node is an Edge below its parent; node 0 is where all begin.
  class Holders
    include Enumerable

    # The part of a +row+ (as Profile#table has it) that is retained by the path that ends in +node+; +class_name+: class of
    # the objects, or of the object that the memory belongs to.
    Held = Struct.new(:row, :node, :class_name, :objects, :space, :variance) do
      def estimate = Holders.estimate(objects, space, variance)
    end

    # An Estimate of objects that have about one size and one weight. From these follows the number of samples.
    def self.estimate(objects, space, variance) # :nodoc:
      return Estimate.new if objects <= 0 || space <= 0

      size = space / objects.to_f
      samples = [(objects / (1 + variance * objects / space.to_f**2)).round, 1].max
      Estimate.new(samples, objects, space, variance, variance / size**2)
    end

    # What the sampler hands over: numbers for each node, and for each part of a row.
    NODE_FIELDS = 10
    HELD_FIELDS = 5
    NO_ENTRIES = 2**32 - 1
    private_constant :NODE_FIELDS, :HELD_FIELDS, :NO_ENTRIES

    # Array of Held.
    attr_reader :all

    # call-seq:
    #   Holders.from_raw(nodes, kept, texts, rows) -> HeapSample::Holders or nil
    #
    # Takes what the sampler hands over (GC::SampleProfile#raw): +nodes+ (parent, kind, name, class, path, line, objects, folded
    # ones, entries, bound; flattened; a root is its own parent), +kept+ (row, node, objects, space, variance; flattened), the texts and the rows
    # that they are indexes into.
    def self.from_raw(nodes, kept, texts, rows)
      return unless nodes && kept

      parents, edges, classes, linked = [0], [nil], [""], [nil]
      nodes.each_slice(NODE_FIELDS).with_index do |(parent, kind, name, class_name, path, line, objects, folded, entries, bound), index|
        parents << (parent == index ? 0 : parent + 1)
        linked << objects
        edges << Edge.new(texts[name], texts[kind], texts[path], line, repeats: (objects if folded > 0 && parent != index),
                          entries: (entries unless entries == NO_ENTRIES), bound: (texts[bound] if bound > 0))
        classes << texts[class_name]
      end
      held = kept.each_slice(HELD_FIELDS).map do |row, node, *figures|
        columns = rows.fetch(row)
        own = classes.fetch(node + 1)
        Held.new(columns, node + 1, columns[Columns::MALLOC] && !own.empty? ? own : texts[columns[Columns::CLASS]], *figures)
      end
      new(parents, edges, held, linked)
    end

    # +parents+: of each node; +edges+: the Edge of each; +linked+: how many objects each leads to; of node 0 none counts.
    def initialize(parents, edges, all, linked = [])
      @parents = parents
      @edges = edges
      @linked = linked
      @all = all
      @paths = {}
    end

    def each(&block) = all.each(&block)

    # How many nodes there are, the one where all begin included.
    def size = @parents.size

    # Is nothing kept?
    def empty? = all.empty?

    # The parent of a node, and its Edge.
    def parent(node) = @parents[node]
    # The Edge of a node; nil of node 0.
    def edge(node) = @edges[node]

    # The way to a node, the root first: an Array of Edge.
    def path(node)
      @paths[node] ||= nodes(node).map { |one| @edges[one] }.freeze
    end

    # The nodes of the way to a node, the root first, in the order of #path.
    def nodes(node)
      way = []
      until node.zero?
        way << node
        node = @parents[node]
      end
      way.reverse
    end

    # To how many objects the reference of a node leads, on the paths to samples; nil if the file does not have it.
    def linked(node) = @linked[node]

    # The same of some of the rows only.
    def of(rows)
      wanted = {}.compare_by_identity
      rows.each { |row| wanted[row] = true }
      Holders.new(@parents, @edges, all.select { |held| wanted[held.row] }, @linked)
    end

    def inspect
      "#<#{self.class} #{all.size} ways, #{size - 1} nodes>"
    end
  end
end
