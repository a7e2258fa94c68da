# frozen_string_literal: true

module HeapSample
  # What retains live memory: the paths from the roots of the heap to it, as a tree with how much each path retains.
  #
  #   puts GC.sample_profile(why: true).why
  #   puts profile.filter(class: "Ticket").why(since: before)     # of tickets, only what was allocated since
  #
  # A profile shows where memory was allocated; this shows which references retain it: a constant, an instance variable,
  # a local variable of a block, a thread's local.  Each path is a shortest one: there may be others, and an object that
  # two paths retain is not freed when one is cut.  Only names of code are shown, never the contents of a key or a string.
  class Why
    include Analysis
    include Enumerable

    TEXT = WhyText
    ROWS = 30
    # Smaller nodes, as a part of all, are not shown.
    MIN_SHARE = 0.01

    # The Profile; how the objects at the end are grouped; whether collections are shown.
    attr_reader :profile, :by, :full
    # Only memory allocated after this one counts: a Profile, or nil.
    attr_reader :since
    # The HolderTree::Node of all, whose children are the categories of roots.
    attr_reader :root
    # Why nothing is known, a String; nil if something is.
    attr_reader :reason

    # call-seq:
    #   Why.new(profile, by: :class, since: nil, full: false, top: 30, min_share: 0.01)
    #
    # +by+: how the objects at the end of a path are grouped, one of Groups::BY; +since+: an earlier profile of the
    # process: only memory allocated after it; +full+: with collections and without what is shortened; +top+: nodes that
    # are shown; +min_share+: nodes of a smaller part of all are not.  Raises ArgumentError if one of them makes no sense.
    def initialize(profile, by: :class, since: nil, full: false, top: ROWS, min_share: MIN_SHARE)
      Layout.check(top: top)
      raise ArgumentError, "min_share must be a number from 0 to 1, not #{min_share.inspect}" unless min_share.is_a?(Numeric) && min_share.between?(0, 1)

      @profile = profile
      @by = by
      @since = since.respond_to?(:to_profile) ? since.to_profile : since
      @full = full
      @reason = no_walk
      @root = grow(top, min_share)
    end

    # All that is retained: a HeapSample::Estimate.
    def total = root.estimate

    # Is nothing retained that matches?
    def empty? = total.zero?

    # Yields the HolderTree::Node of each category of roots, the largest first.
    def each(&block) = root.children.each(&block)

    # The node that retains most, of those below roots that stand for code (see Roots); nil if there is none.
    def largest
      @largest ||= reject { |node| node.role || Roots.of(node.steps.first.first.name)&.holder == false }.flat_map { |node| node.steps.size > 1 ? [node] : node.children }
                   .reject { |node| node.role || node.steps.empty? || node.steps.any? { |step| step.first.equal?(Chain::LOADED) } }.max_by { |node| node.estimate.space }
    end

    # What would be freed if one holder were emptied: Array of Walk::Freed. None of a part of the profile: that is not known.
    def freed = profile.filtered || since ? [] : profile.info.walk&.freed || []

    # Permanently blocked threads, by the line where they wait: Array of StuckThreads::Place. None of a part of the profile.
    def stuck = profile.filtered || since ? [] : profile.info.walk&.stuck || []

    # What pins objects that hold free memory of heap pages: Array of Pins::Pin. None of a part of the profile.
    def pins = profile.filtered || since ? [] : profile.info.walk&.pins || []

    # JSON-ready: a flat list of nodes, each after its parent, which it names by index.
    def to_h
      {by: by, full: full, filter: profile.filtered&.names, reason: reason, walk: profile.info.walk&.to_h, total: total.to_h, freed: freed.map(&:to_h),
       stuck: stuck.map(&:to_h), pins: pins.map(&:to_h), nodes: nodes_to_h}.compact
    end

    # Steps, what the objects are, how much of them, and whether they are blocks of malloc, of each way.
    def ways # :nodoc:
      return [] unless profile.holders

      keys = Keys.new(profile, by)
      shares = since ? Grown.new(profile - since) : nil
      chains = {}
      profile.holders.filter_map do |held|
        estimate = held.estimate
        estimate = shares.part(held.row, estimate) if shares
        next if estimate.zero?

        steps = chains[[held.node, held.class_name]] ||= Chain.of(profile.holders.path(held.node), object: held.class_name, full: full)
        [steps, key(keys, held), estimate, held.row[Columns::MALLOC]]
      end
    end

    private

    def no_walk
      return if profile.holders
      return "Nothing retains it: none of it was live." if profile.info.walk && profile.info.walk.refused.nil?

      refused = profile.info.walk&.refused
      return "This profile has no heap walk: #{refused}." if refused

      "This profile has no heap walk, so it cannot show what retains memory. Run heapsample why PID, " \
        "call GC.sample_profile(why: true), or set diagnose=1% in RUBY_HEAP_SAMPLE for periodic profiles."
    end

    def grow(top, min_share)
      tree = HolderTree.new(top: top, min_share: min_share, families: !full)
      ways.each { |way| tree.add(*way) }
      tree.grow
    end

    # Memory is grouped by the class of the object that has it.
    def key(keys, held) = by == :class ? held.class_name : keys.of(held.row)

    def nodes_to_h
      names = layout
      Analysis.flat(root) { |node, parent| node_to_h(node, parent, names) }
    end

    def node_to_h(node, parent, names)
      {parent: parent, role: node.role, count: (node.count if node.role == :more),
       steps: node.steps.each_with_index.map { |step, at| {edges: step.edges.map(&:to_h), repeats: node.repeats[at]} },
       key: node.key && Analysis.key(node.key, names), blocks: (node.blocks if node.blocks > 0), share: (node.estimate.space / total.space.to_f unless total.zero?), **node.estimate.to_h}.compact
    end
  end
end
