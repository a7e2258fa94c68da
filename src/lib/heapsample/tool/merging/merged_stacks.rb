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

      def marshal_dump = [@texts, @fields, @mappings, @lists]

      def marshal_load((texts, fields, mappings, lists))
        initialize(texts, fields, mappings)
        lists.each { |list| intern(list) }
      end
    end
  end
end
