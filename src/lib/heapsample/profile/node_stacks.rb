# frozen_string_literal: true

module HeapSample
  # Stacks as nodes of a tree: parent and frame of one node after the other; a
  # handle is the index of the leaf's node, 0 the empty stack.
  class NodeStacks < Stacks
    def initialize(texts, fields, nodes, mappings = [])
      super(texts, fields, mappings)
      @nodes = nodes
    end

    # Frame ids of a token: always one.
    def token_frames(token)
      token.unpack("w")
    end

    def each_frame_id(node)
      until node.zero?
        yield @nodes[node * 2 + 1]
        node = @nodes[node * 2]
      end
    end

    private

    def identify
      @identities[0] = NO_IDENTITY
    end

    # Down from the nearest node that has its number.
    def number_of(node)
      path = []
      until @identities[node]
        path << node
        node = @nodes[node * 2]
      end
      path.reverse_each { |above| @identities[above] = on_top(@identities[@nodes[above * 2]], @nodes[above * 2 + 1]) }
      @identities[path.first || node]
    end

    def packed(node)
      frame_ids(node).pack("w*")
    end
  end
end
