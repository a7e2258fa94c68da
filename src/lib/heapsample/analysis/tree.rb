# frozen_string_literal: true

module HeapSample
  # Who calls what allocates: stacks as a tree.
  #
  #   puts profile.tree                                              # from the root down
  #   puts profile.filter(path: "cache.rb:16").tree(direction: :callers)   # who leads there
  #
  # :callees begins at the root of the stacks and leads to the lines that allocate,
  # :callers at those lines and leads to the root.  What a line calls on its own line, C
  # methods and blocks, is that line.  From the root down the native code follows that a
  # line called for memory of malloc, to the function that wanted it.  Where nothing
  # branches, frames are one node.  The largest nodes are shown; what is small or
  # beyond them is one node "N more" below its parent.
  class Tree
    include Analysis

    TEXT = TreeText
    ROWS = 40
    # Smaller nodes, as a part of all, are not shown, but for a few if there is
    # nothing larger.
    MIN_SHARE = 0.005
    FEW = 10
    DIRECTIONS = {callees: "from the root down", callers: "from the line up"}.freeze
    BY = %i[line method].freeze

    # Frames in a row that all of its memory shares.
    class Node
      # HeapSample::Places, in the tree's direction; empty for the root of all, for
      # what ends at its parent, and for "N more".
      attr_reader :places
      # A HeapSample::Estimate of it and all below.
      attr_reader :estimate
      # Array of Node, the largest first: what it branches into.
      attr_reader :children
      # nil, or :itself: the stacks that end at the parent; :stackless: those without
      # Ruby code; :more: nodes that are not shown.
      attr_reader :role
      # How many nodes that are not shown it stands for.
      attr_reader :count

      def initialize(places, estimate, role: nil, count: 1) # :nodoc:
        @places = places
        @estimate = estimate
        @role = role
        @count = count
        @children = []
      end

      # Samples behind the estimate.
      def samples = estimate.samples
      # Are there fewer than 10 of them?
      def weak? = estimate.weak?

      def inspect
        "#<#{self.class} #{role || "#{places.size} frames"}, #{children.size} children, #{estimate.inspect}>"
      end
    end

    # The Node of all.
    attr_reader :root
    # The HeapSample::Value that is shown, and its total.
    attr_reader :value, :total
    # Of which rows; what was asked for.
    attr_reader :profile, :direction

    # call-seq:
    #   Tree.new(profile, direction: :callees, value: nil, kind: :both, by: :line, top: 40, min_share: 0.005)
    #
    # +direction+: :callees or :callers; +by+: what a frame is, its :line or its
    # :method; +top+: nodes that are shown; +min_share+: nodes of a smaller part of
    # all are not.  Otherwise as Top.new.
    def initialize(profile, direction: :callees, value: nil, kind: :both, by: :line, top: ROWS, min_share: MIN_SHARE)
      Layout.check(top: top)
      check(direction, by, min_share)
      @profile = profile
      @direction = direction
      @by = by
      @value = Value.of(value || Top.default(profile, kind), kind)
      @top = top
      @min_share = min_share
      @index = PathIndex.new(estimates, from_root: direction == :callees) { |estimate| @value.number(estimate) }
      @root = grow
      @total = @value.number(@root.estimate)
    end

    # JSON-ready: a flat list of nodes, each after its parent, which it names by
    # index; so no depth is too much for a JSON parser.
    def to_h
      {direction: @direction, by: @by, value: value.name, kind: value.kind, unit: value.unit, filter: @profile.filtered&.names,
       nodes: nodes_to_h}.compact
    end

    private

    def check(direction, by, min_share)
      unless DIRECTIONS.key?(direction)
        raise ArgumentError, "direction must be one of #{DIRECTIONS.keys.map(&:inspect).join(", ")}, not #{direction.inspect}"
      end
      raise ArgumentError, "by must be one of #{BY.map(&:inspect).join(", ")}, not #{by.inspect}" unless BY.include?(by)
      return if min_share.is_a?(Numeric) && min_share.between?(0, 1)

      raise ArgumentError, "min_share must be a number from 0 to 1, not #{min_share.inspect}"
    end

    # Rows summed by trail.
    def estimates
      at = Columns::PARTS.fetch(value.part)
      wanted = Groups.wanted(value.kind)
      trails = {}
      by_handle = []
      @profile.table.each do |row|
        next unless row[at + 1] > 0 && (wanted.nil? || row[Columns::MALLOC] == wanted)

        handle = row[Columns::STACK]
        sum = by_handle[handle] ||= (trails[@profile.stacks.trail(handle, native: native?)] ||= Estimate.new)
        value.add_row(sum, row)
      end
      trails
    end

    # From the root down the tree goes on in native code.
    def native? = @direction == :callees

    # What is found of a node before it is known whether it is shown.
    class Bud
      attr_reader :places, :spans, :weight, :parent, :role

      def initialize(places, spans, weight, parent = nil, role = nil)
        @places = places
        @spans = spans
        @weight = weight
        @parent = parent
        @role = role
      end
    end

    # The tree of the largest nodes: buds are opened in the order of their weight, and
    # no node weighs more than its parent, so those that are opened first are the
    # largest of all.
    def grow
      top = Node.new([], @index.estimate(@index.all))
      return top if top.estimate.zero?

      @keys = {}
      least = @min_share * value.number(top.estimate)
      first = collapse(Bud.new([], @index.all, Float::INFINITY))
      top = Node.new(first.places, top.estimate)
      waiting = {top => buds(first.spans, top)}
      queue = []                              # sorted, the heaviest last
      enqueue(queue, waiting[top], least)
      (@top - 1).times do
        bud = queue.pop
        break if bud.nil? || bud.weight < least && waiting.size > FEW

        waiting[bud.parent].delete(bud)
        bud = collapse(bud) unless bud.role
        node = Node.new(bud.places, @index.estimate(bud.spans), role: bud.role)
        bud.parent.children << node
        next if bud.role

        waiting[node] = buds(bud.spans, node)
        enqueue(queue, waiting[node], least)
      end
      waiting.each { |node, hidden| node.children << more(hidden) unless hidden.empty? }
      top
    end

    # Those that may be shown.
    def enqueue(queue, buds, least)
      (buds.max_by(FEW, &:weight) | buds.select { |bud| bud.weight >= least }).each do |bud|
        queue.insert(queue.bsearch_index { |other| other.weight >= bud.weight } || queue.size, bud)
      end
    end

    # Goes on as long as there is one way; native code is a node of its own.
    def collapse(bud)
      places, spans = bud.places.dup, bud.spans
      loop do
        spans = spans.flat_map { |span| span.frame ? within(span) : [span] }
        break unless @index.ends(spans).empty?

        ways = ways(spans)
        break unless ways.size == 1

        key, further = ways.first
        break if key.first.native? && places.any? { |place| !place.native? }

        places.concat(key)
        spans = further
      end
      Bud.new(places, spans, bud.weight, bud.parent, bud.role)
    end

    def buds(spans, parent)
      ends = @index.ends(spans)
      buds = ways(spans).map { |key, branch| Bud.new(key, branch, @index.weight(branch), parent) }
      buds << Bud.new([], ends, @index.weight(ends), parent, parent.places.empty? ? :stackless : :itself) unless ends.empty? || buds.empty?
      buds
    end

    # The places that come next, with the spans that have them: tokens that are the
    # same place are one.
    def ways(spans)
      ways = {}
      spans.each do |span|
        @index.branches(span) do |token, branch|
          callers_line(token, branch) { |its_token, its_branch| (ways[key(its_token)] ||= []) << its_branch }
        end
      end
      ways
    end

    # From the line up a C method comes before the line that called it, which it has
    # too: yields that line instead.
    def callers_line(token, branch)
      waiting = [[token, branch]]
      until waiting.empty?
        token, branch = waiting.pop
        branch.frame = frames(token).last
        called = []
        next yield(token, branch) if @direction == :callees

        @index.branches(branch) do |above, higher|
          next unless one_line?(branch.frame, frames(above).first)

          called << higher
          waiting << [above, higher]
        end
        @index.without(branch, called).each { |rest| yield token, rest }
      end
    end

    # Goes on over frames at the same line or, by method, of the same method.
    def within(span)
      found = []
      waiting = [span]
      until waiting.empty?
        current = waiting.pop
        inside = []
        @index.branches(current) do |token, branch|
          callers_line(token, branch) do |its_token, its_branch|
            frame = frames(its_token).first
            next unless one_line?(span.frame, frame) || @by == :method && one_method?(span.frame, frame)

            its_branch.frame = span.frame
            inside << its_branch
          end
        end
        found.concat(@index.without(current, inside.sort_by(&:from)))
        waiting.concat(inside)
      end
      found
    end

    def one_line?(id, other)
      @profile.stacks.frame(id).lineno > 0 && @profile.stacks.same_line?(id, other)
    end

    def one_method?(id, other)
      place(@profile.stacks.frame(id)) == place(@profile.stacks.frame(other))
    end

    # Frame ids of a token, in the tree's direction.
    def frames(token)
      (@frames ||= {})[token] ||= @profile.stacks.token_frames(token).then { |ids| @direction == :callees ? ids.reverse : ids }
    end

    # The places of a token: equal ones are one object.
    def key(token)
      (@tokens ||= {})[token] ||= begin
        places = frames(token).map { |id| place(@profile.stacks.frame(id)) }
        @keys[places] ||= places
      end
    end

    def place(frame)
      return Place.of(frame) if frame.native?

      Place.new(frame.full_path, (frame.lineno if @by == :line), frame.qualified_label)
    end

    def more(hidden)
      Node.new([], @index.estimate(hidden.flat_map(&:spans)), role: :more, count: hidden.size)
    end

    def nodes_to_h
      names = layout
      Analysis.flat(root) { |node, parent| node_to_h(node, parent, names) }
    end

    def node_to_h(node, parent, names)
      number = value.number(node.estimate)
      {
        parent: parent, role: node.role, count: (node.count if node.role == :more), frames: node.places.map { |place| Analysis.key(place, names) },
        value: number, interval: value.interval(node.estimate), share: (number / @total.to_f if @total > 0), **node.estimate.to_h
      }.compact
    end
  end
end
