# frozen_string_literal: true

module HeapSample
  module Tool
    # Stacks that grow while profiles are added.
    class MergedStacks < ListStacks
      # A location is a frame.
      IDENTITY = Hash.new { |_, id| id }

      def initialize(texts, fields, mappings)
        super(texts, fields, IDENTITY)
        @mappings = mappings
      end
    end
  end
end
