# frozen_string_literal: true

module HeapSample
  # The reference to name where there is room for only one: what retains the object at the end of a path.
  #
  # That is the reference to the collection, or the list, in which the objects are: `Report::BADGES`, `@subscribers of
  # Notifier`.  But a thing that is kept often has collections of its own: of an order in `Shop::ORDERS` that has
  # its items in an array, `@items of Order` is not the answer.  So the references of objects that are many are passed over,
  # and so are the variables of blocks that are kept themselves, and the references of a list that the VM makes.  Where
  # nothing is left, it is the reference to the first object of a linked list.
  class NearestHolder
    # So many objects of a class are many, by estimate: one sample of a small object stands for thousands.
    MANY = 100
    # So many collections that a way leads through are many, too: these are counted, and only those that keep a sample.
    MANY_ON_WAYS = 10
    # Where each of so many samples leads to a collection of its own, there are more collections than samples.
    OWN_LEAST = 4
    # One sample is chance: its holder may be one of many.
    SAMPLES_LEAST = 2
    ENVIRONMENT = "environment"
    # From an object to its singleton class.
    CLASS = "class"
    # The root that has the blocks of at_exit: each of many retains what it refers to.
    AT_EXIT = "(at_exit)"
    # What a block of ObjectSpace.define_finalizer retains is retained by that block, whatever the way below it.
    FINALIZER = "finalizer"
    # The VM's constant that leads to the local variables of the main program: these are meant.
    MAIN = "TOPLEVEL_BINDING"
    # Below these are words that look like references.
    MACHINE_STACK = "(machine stack)"
    C_STACK = "C stack of "

    # What retains most of some rows: the Edge, the Edges from the root to it, the part of the bytes that it retains, of all and
    # of what is known to be retained, and the samples, objects and bytes of that part; +owner+: the class of the objects by
    # which it is inferred, nil if it is not.
    Answer = Struct.new(:edge, :path, :share, :share_of_known, :samples, :objects, :space, :owner) do
      # What is known of a root of the VM: a Roots::Root; nil of roots that the program wrote.
      def root = Roots.of(path.first.name)
      # Is the holder a reference that the program wrote?
      def named? = root.nil? || root.holder
      # Is it known what retains it?
      def known? = !Roots.silent?(path.first.name)

      # Is it no more than a word on a C stack, which may be no reference?
      def guess? = path.first.name == MACHINE_STACK || path.any? { |one| one.name.start_with?(C_STACK) }
      # Does a variable of a running method or block lead to it?
      def local? = path.any?(&:local?)

      # "@subscribers of Notifier", "local cache of Worker#run app/worker.rb:7".
      def to_s = Layout.new(root: Dir.pwd).holder(self)

      # JSON-ready. +named+: is it a reference that the program wrote? If not, +root+ is all that is known.
      def to_h
        {named: named?, name: edge.name, kind: edge.kind, path: (edge.path unless edge.path.empty?), line: (edge.line if edge.line > 0),
         root: path.first.name, share: share, bytes: space, owner: owner}.compact
      end
    end

    # +profile+: one with holders.
    def initialize(profile)
      @profile = profile
      @holders = profile.holders
      @ends = {}
    end

    # call-seq:
    #   of_rows(rows, known: false) { |row, estimate| estimate } -> Answer or nil
    #
    # What retains most of some rows of the profile's table. The block returns how much of each part of a row counts; without a
    # block all of it counts. +known+: see #of.
    def of_rows(rows, known: false, &block) = of(rows.flat_map { |row| by_row.fetch(row, []) }, known: known, &block)

    # call-seq:
    #   of(ways, known: false) { |row, estimate| estimate } -> Answer or nil
    #
    # The same of some Holders::Held. +known+: leaves out memory whose holder is not known; Answer#share is of all memory in any
    # case.
    def of(ways, known: false)
      estimates = ways.map { |held| [[held.node, container?(held)], block_given? ? yield(held.row, held.estimate) : held.estimate] }
      sums = sum_by(estimates) { |node, container| [node(node, container: container)] }
      reported = sums.select { |node, _| known?(node) }
      node, most = (known ? reported : sums).max_by { |one, estimate| [estimate.space, -one] }
      return unless node && most.space > 0

      all = [sums, reported].map { |some| some.each_value.sum(&:space) }
      family = of_family(reported)
      return answer(*family, *all) if family && family[1].space > most.space

      node, most = shared(estimates) || [node, most] if chance?(most) && known?(node)
      answer(node, most, nil, *all)
    end

    # The nearest collection below an Answer that retains most of the same, an Answer; nil if there is none.
    def inner(ways, answer)
      all = ways.reject { |held| Roots.silent?(@holders.path(held.node).first.name) }
      sums = sum_by(all.map { |held| [held.node, held.estimate] }) { |node,| [inner_node(node, answer.path)].compact }
      node, most = sums.max_by { |one, estimate| [estimate.space, -one] }
      answer(node, most, nil, *[ways, all].map { |some| some.sum { |held| held.estimate.space } }) if node
    end

    # The largest of one row; nil if no holder is known.
    def of_row(row) = of_rows([row])

    # The node whose edge is named for a path that ends in +node+: this node or one above. +container+: the memory belongs to
    # the single object to which the path leads.
    def node(node, container: false)
      @ends[[node, container]] ||= begin
        way = @holders.nodes(node)
        way[index(@holders.path(node), way, container)]
      end
    end

    private

    def inner_node(node, above)
      path = @holders.path(node)
      return unless path.first(above.size).map(&:key) == above.map(&:key)

      collections(path).find { |at| at >= above.size && path[at].written? }&.then { |at| @holders.nodes(node)[at] }
    end

    # Is it the block of one object, which grows as a container or a buffer does?
    def container?(held) = held.row[Columns::MALLOC] && @holders.linked(held.node) == 1 && held.estimate.objects < 2

    # Sums of [node, Estimate], by the nodes that the block names for a node.
    def sum_by(estimates)
      estimates.each_with_object(Hash.new { |all, node| all[node] = Estimate.new }) do |(node, estimate), sums|
        yield(node).each { |one| sums[one].add(estimate) }
      end
    end

    # Is it one sample, that stands for many?
    def chance?(estimate) = estimate.samples < SAMPLES_LEAST && estimate.objects >= SAMPLES_LEAST

    # The node of the collection above that most of it shares, the nearest of such, and its Estimate; nil if it shares none.
    def shared(estimates)
      sums = sum_by(estimates) { |node, _| @holders.nodes(node).values_at(*collections(@holders.path(node))) }
      sums.reject { |_, estimate| chance?(estimate) }.max_by { |node, estimate| [estimate.space, @holders.nodes(node).size] }
    end

    # The references that keep most together, of those that differ in a class alone or are of one name below different ones, and of
    # which none retains a tenth: one of their nodes, their Estimate, and an Edge that stands for them; nil if there are no such.
    def of_family(sums)
      families = %i[family siblings].flat_map { |kind| sums.group_by { |node, _| @holders.path(node).last.then { |edge| edge.public_send(kind) || edge.key } }.to_a }
      families.filter_map do |name, same|
        next if same.size < Edge::FAMILY_LEAST

        sum = Estimate.sum(same.map(&:last))
        next if same.any? { |_, one| one.space * Edge::FAMILY_LEAST > sum.space }

        node = same.first.first
        edge = @holders.path(node).last
        [node, sum, name.is_a?(String) ? Edge.new(format(name, Layout.grouped(same.size)), edge.kind) : edge]
      end.max_by { |_, sum, _| sum.space }
    end

    def by_row
      @by_row ||= @holders.each_with_object({}.compare_by_identity) { |held, groups| (groups[held.row] ||= []) << held }
    end

    def answer(node, most, edge, all, known)
      path = @holders.path(node)
      path = [*path[0...-1], edge] if edge
      Answer.new(path.last, path, most.space / all.to_f, known?(node) ? most.space / known.to_f : 0.0, most.samples, most.objects, most.space)
    end

    # Does the root of a way name a holder?
    def known?(node) = !Roots.silent?(@holders.path(node).first.name)

    def index(path, way, container)
      return 1 if path[1] && (path[1].kind == FINALIZER || (path[1].root? && path[1].name != path[0].name && path.none?(&:written?)))

      places = (0...path.size).to_a.reverse
      collections(path, container).reverse.find { |at| !passed_over?(path, way, at) } || places.find { |at| single?(path, at) } || places.find { |at| first_of_list?(path, at) } ||
        path.index { |edge| edge.name == AT_EXIT } ||
        path.index { |edge| edge.written? && !edge.passed_through? && edge.name != MAIN } || path.index { |edge| !edge.root? && !edge.passed_through? } || 0
    end

    # Indexes of references to collections and lists; +container+: the last leads to one.
    def collections(path, container = false)
      (0...path.size).select do |at|
        edge = path[at]
        next if edge.root? || edge.passed_through? || edge.kind == CLASS

        (edge.repeats > 1 && edge.written?) || leads_to_many?(path[at + 1], path[at + 2]) || (container && at == path.size - 1 && edge.written?)
      end
    end

    # Is the next reference one to an entry, or one of many that the VM makes, as from each composed Proc to the one before?
    # An object whose singleton class has many modules refers to them, too.
    def leads_to_many?(edge, following)
      edge = following if edge&.kind == CLASS
      edge && (edge.entry? || (edge.repeats > 1 && !edge.written?))
    end

    # Is there one of it?
    def single?(path, at) = Edge::SINGLE.include?(path[at].kind) && path[at].name != MAIN

    # Does it lead to a linked list, of whose objects there are many?
    def first_of_list?(path, at) = !path[at].root? && !path[at].passed_through? && at + 1 < path.size && path[at + 1].repeats > 1

    # Is it a reference of one of many objects, or of a block that something above retains?
    def passed_over?(path, way, at)
      edge = path[at]
      return false if Edge::SINGLE.include?(edge.kind)
      return true if (edge.repeats > 1 && !edge.written?) || many?(edge.owner) || (edge.repeats == 1 && many_on_ways?(way[at]))

      at > 0 && path[at - 1].kind == ENVIRONMENT && collections(path).any? { |one| one < at }
    end

    def many_on_ways?(node)
      linked = @holders.linked(node) || 0
      linked >= MANY_ON_WAYS || (linked >= OWN_LEAST && linked >= samples[node])
    end

    # How many samples a way through a node leads to.
    def samples
      @samples ||= @holders.each_with_object(Hash.new(0)) { |held, sums| @holders.nodes(held.node).each { |node| sums[node] += held.estimate.samples } }
    end

    def many?(class_name) = (objects[class_name] || 0) >= MANY

    # How many live, by class.
    def objects
      @objects ||= @profile.table.each_with_object(Hash.new(0)) do |row, sums|
        sums[@profile.text(row[Columns::CLASS])] += row[Columns::INUSE_OBJECTS] + row[Columns::YOUNG_OBJECTS] unless row[Columns::MALLOC]
      end
    end
  end
end
