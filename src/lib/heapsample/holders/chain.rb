# frozen_string_literal: true

module HeapSample
  # The way from a root to an object as a person reads it: a list of steps.  The short form passes through collections of
  # anything (whose they are is the edge before), and all classes, methods and compiled code are one: "(loaded code)", or where
  # an object, a variable or a collection has them, as a singleton class, the first reference to them.  In either form what
  # repeats is one step, so that a list of a million links is "@next of Node ×1,000,000".
  module Chain
    # Edges in a row that repeat together: of a list one, of a tree with arrays two, …
    PERIOD_MOST = 4

    # What classes, modules and code consist of.
    LOADED = Ractor.make_shareable(Edge.new("(loaded code)", "code").tap(&:key))
    LOADED_OBJECTS = /\A(?:Class|Module|\(hidden (?:Class|Module|T_CLASS|T_ICLASS|T_MODULE)\)|\(imemo:(?:iseq|ment|cref|callcache|callinfo|constcache)\))\z/

    # Edges that are one step, and how often they come one after the other.
    Step = Struct.new(:edges, :repeats) do
      # What distinguishes steps: a list is the same list however long it is.
      def key = (@key ||= edges.map(&:key))
      def first = edges.first
      def root? = first.root?
    end

    module_function

    # call-seq:
    #   Chain.of(edges, object: nil, full: false) -> Array of Step
    #
    # +edges+: the root first, as Holders#path gives them; +object+: the class of what they lead to.
    def of(edges, object: nil, full: false)
      edges = edges.drop(1) if edges[0]&.key == edges[1]&.key        # a root below its category, of the same name
      edges = abridged(edges, object) unless full
      steps = []
      from = 0
      while from < edges.size
        period, count = run(edges, from)
        steps << Step.new(edges[from, period], edges[from, period * count].sum(&:repeats) / period)
        from += period * count
      end
      merge(steps)
    end

    def abridged(edges, object)
      return [edges.first, LOADED] if loaded?(edges, object)

      last = edges.rindex(&:code?)
      return short(edges) if last.nil? || edges.drop(last + 1).any?(&:written?)

      data = last_of_data(edges.take(last)) || 0
      short(edges.take(data + 1 + edges.drop(data + 1).index(&:code?) + 1))
    end

    # Is it code that files have?  What a method refers to by a variable of the block that it was made of is not, nor what an object
    # has for itself.
    def loaded?(edges, object)
      at = edges.rindex(&:code?)
      return edges.drop(at + 1).none?(&:written?) && last_of_data(edges.take(at)).nil? if at

      LOADED_OBJECTS.match?(object.to_s) && edges.drop(1).all? { |edge| edge.kind == "constant" }
    end

    # Index of the last reference that the program wrote, other than to a module or an object by its constant.
    def last_of_data(edges)
      (0...edges.size).to_a.reverse.find { |at| edges[at].kind == "constant" ? false : edges[at].written? || (edges[at].entry? && at > 0 && edges[at - 1].kind == "constant") }
    end

    # Without collections, and without a constant before a variable of that class or module.  Edges of
    # shared memory stay, because what retains a part of it retains all.
    def short(edges)
      edges = edges.reject { |edge| edge.passed_through? && edge.kind != "shared" }
      edges.reject.with_index { |edge, at| edge.names_owner_of?(edges[at + 1]) }
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

    private_class_method :abridged, :loaded?, :last_of_data, :short, :run, :merge
  end
end
