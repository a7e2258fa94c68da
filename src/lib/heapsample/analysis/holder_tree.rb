# frozen_string_literal: true

module HeapSample
  # The paths of a profile's Holders as a tree of steps, summed: how much all paths through a node retain.
  # Where nothing branches, steps are one node.  The largest nodes are shown; what is small or beyond them is one node
  # "N more" below its parent.  Branches that differ in a class or in the name of a method alone (Edge#family) are one:
  # `@columns of 400 classes`.
  class HolderTree
    # Branches below each other that are shown.
    DEPTH_MOST = 12

    # Steps in a row that all of its memory shares.
    class Node
      # Array of Chain::Step.
      attr_reader :steps
      # What the objects are that end here (a class, or what else is asked for); nil of what leads further.
      attr_reader :key
      # A HeapSample::Estimate of it and all below.
      attr_reader :estimate
      # Array of Node, the largest first: what it branches into.
      attr_reader :children
      # nil, or :more: nodes that are not shown, and how many these are.
      attr_reader :role, :count
      # Of a list the shortest and the longest that was seen: by the index of the step.
      attr_reader :repeats
      # How many of what the estimate counts are blocks of malloc, and no objects; of a node with a key.
      attr_reader :blocks

      def initialize(steps, estimate, key: nil, blocks: 0.0, repeats: [], role: nil, count: 1) # :nodoc:
        @steps = steps
        @estimate = estimate
        @key = key
        @blocks = blocks
        @repeats = repeats
        @role = role
        @count = count
        @children = []
      end

      # Are there fewer than 10 samples of it?
      def weak? = estimate.weak?

      def inspect
        "#<#{self.class} #{role || [*steps.map { |step| step.edges.join(", ") }, *key].join(" → ")}, #{children.size} children>"
      end
    end

    # What is summed: a step, or at the end of a way a key; its sum, and what follows.
    class Sum
      attr_reader :step, :key, :estimate, :children
      attr_accessor :repeats, :blocks

      def initialize(step = nil, key = nil)
        @step = step
        @key = key
        @blocks = 0.0
        @estimate = Estimate.new
        @children = {}
        @repeats = nil
      end

      def space = estimate.space

      def below(step)
        sum = children[step.key] ||= Sum.new(step)
        low, high = sum.repeats || [step.repeats, step.repeats]
        sum.repeats = [[low, step.repeats].min, [high, step.repeats].max]
        sum
      end

      # One of a family?
      def family = (step.first.family if step && step.edges.size == 1 && !step.root?)

      def merge(other)
        estimate.add(other.estimate)
        @blocks += other.blocks
        @repeats = [@repeats, other.repeats].compact.then { |all| [all.map(&:first).min, all.map(&:last).max] unless all.empty? }
        other.children.each { |key, child| children[key] ? children[key].merge(child) : children[key] = child }
      end

      def at_end(key) = children[[:end, key]] ||= Sum.new(nil, key)
    end

    # +top+: nodes that are shown; smaller nodes than this part of all (+min_share+) are not; +families+: are they shown as one?
    def initialize(top:, min_share:, families: true)
      @top = top
      @min_share = min_share
      @families = families
      @all = Sum.new
    end

    # call-seq:
    #   add(steps, key, estimate, malloc)
    #
    # Adds what a path retains: steps, what the objects are, how much, and whether it is blocks of malloc.
    def add(steps, key, estimate, malloc)
      sum = @all
      sum.estimate.add(estimate)
      steps.each do |step|
        sum = sum.below(step)
        sum.estimate.add(estimate)
      end
      last = sum.at_end(key)
      last.estimate.add(estimate)
      last.blocks += estimate.objects if malloc
    end

    # The Node of all, made when all is added.
    def grow
      root = Node.new([], @all.estimate)
      waiting = {root => [branches(@all), 0]}.compare_by_identity
      queue = open(waiting, root)
      @top.times do
        parent, sum = queue.pop
        break unless parent

        list, depth = waiting.fetch(parent)
        list.delete(sum)
        parent.children << (node = node(sum) { |last| sum = last })
        waiting[node] = [branches(sum), depth + 1]
        merge(queue, open(waiting, node)) if depth + 1 < DEPTH_MOST
      end
      waiting.each { |node, (hidden, _)| node.children << more(hidden) unless hidden.empty? }
      root
    end

    private

    # What a Sum branches into.
    def branches(sum)
      all = sum.children.values
      return all unless @families

      all.group_by(&:family).flat_map do |family, same|
        least = same.sum(&:space) / Edge::FAMILY_LEAST # what has a tenth of it is shown by itself
        small = family ? same.select { |one| one.space < least } : []
        small.size < Edge::FAMILY_LEAST ? same : [*(same - small), together(family, small)]
      end
    end

    def together(family, sums)
      edge = Edge.new(format(family, Layout.grouped(sums.size)), sums.first.step.first.kind)
      Sum.new(Chain::Step.new([edge], 1)).tap { |all| sums.each { |sum| all.merge(sum) } }
    end

    # What may be shown below a node, the largest last; roots are all shown, however small.
    def open(waiting, node)
      list, depth = waiting.fetch(node)
      least = depth.zero? ? 0 : @min_share * @all.space
      list.select { |sum| sum.space >= least }.map { |sum| [node, sum] }.sort_by { |_, sum| sum.space }
    end

    def merge(queue, more)
      more.each { |pair| queue.insert(queue.bsearch_index { |_, sum| sum.space >= pair.last.space } || queue.size, pair) }
    end

    # Goes on as long as there is one way; yields the Sum where it ends.
    def node(sum)
      estimate = sum.estimate
      steps, repeats = [], []
      until sum.step.nil?
        steps << sum.step
        repeats << sum.repeats
        break unless sum.children.size == 1 && !sum.step.root?

        sum = sum.children.each_value.first
      end
      yield sum
      Node.new(steps, estimate, key: sum.key, blocks: sum.blocks, repeats: repeats)
    end

    def more(hidden)
      Node.new([], Estimate.sum(hidden.map(&:estimate)), role: :more, count: hidden.size)
    end
  end
end
