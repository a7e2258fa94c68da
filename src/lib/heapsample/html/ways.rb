# frozen_string_literal: true

module HeapSample
  # What retains memory, as rows of the page: paths from the roots are stacks, and references are frames. So the graph and
  # the table of code show them, too; the innermost frame is the object, by its class.
  #
  # A row is a part of a row of the profile: what of it is reached by one way.  Its line is the reference that NearestHolder
  # names, and collections of anything are folded as frames of gems are.
  class ViewWays < NodeStacks
    COLLECTIONS = "(collections)"

    # A Profile of them.
    def self.of(profile)
      new(profile).then { |ways| Profile.new(meta: profile.meta, texts: ways.texts, stacks: ways, rows: ways.rows) }
    end

    attr_reader :texts

    def initialize(profile)
      @profile = profile
      @holders = profile.holders
      @numbers = {}
      @texts = []
      text("")
      super(@texts, *tables)
    end

    # Rows in the order of Columns.
    def rows
      @holders.map do |held|
        estimate = held.estimate
        Columns.row(stack: end_of(held), class: text(held.class_name), type: text_of(held, :TYPE), library: text_of(held, :LIBRARY), label_set: text_of(held, :LABEL_SET),
                    slot_size: held.row[Columns::SLOT_SIZE], allocation_gc: held.row[Columns::ALLOCATION_GC], malloc: held.row[Columns::MALLOC],
                    inuse_samples: estimate.samples, inuse_objects: estimate.objects, inuse_space: estimate.space, inuse_variance: estimate.variance)
      end
    end

    # The reference that is named as the holder.
    def site(handle)
      node = @profile.nearest_holder.node(handle < @holders.size ? handle : @nodes[handle * 2])
      @frame_of[node] unless node.zero?
    end
    alias application_site site

    def application?(id) = !@edges[id].passed_through?
    def folded_as(_) = COLLECTIONS

    private

    # Fields of frames, and nodes: parent and frame.
    def tables
      ids = {}
      @edges = []
      @frame_of = Array.new(@holders.size) { |node| frame_number(@holders.edge(node), ids) unless node.zero? }
      @class_of = @holders.map(&:class_name).uniq.to_h { |name| [name, frame_number(Edge.new(name, "object"), ids)] }
      fields = @edges.flat_map { |edge| [text(edge.to_s), text(edge.path), 0, edge.line, 0] }
      nodes = @frame_of.each_with_index.flat_map { |frame, node| [node.zero? ? 0 : @holders.parent(node), frame || 0] }
      [fields, nodes]
    end

    # A node below the end of a path, for the objects of a class.
    def end_of(held)
      (@ends ||= {})[[held.node, held.class_name]] ||= begin
        @nodes.push(held.node, @class_of.fetch(held.class_name))
        @nodes.size / 2 - 1
      end
    end

    def frame_number(edge, ids)
      ids[edge.key] ||= begin
        @edges << edge
        @edges.size - 1
      end
    end

    def text_of(held, column) = text(@profile.text(held.row[Columns.const_get(column)]))

    def text(text)
      @numbers[text] ||= begin
        @texts << text
        @texts.size - 1
      end
    end
  end
end
