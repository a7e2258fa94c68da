# frozen_string_literal: true

module HeapSample
  module Dump
    # What a dump has that other profiles do not: Profile#dump.
    class Facts
      # The Objects; the ClassNames; sentences about what was left out; how many objects were traced, and how many there are.
      attr_reader :objects, :classes, :left_out, :traced, :count
      # Rows of the profile's table, by the number that #objects has; several numbers may have one row.
      attr_reader :rows

      def initialize(objects:, classes:, rows:, duplicates:, left_out:, traced:, count:) # :nodoc:
        @objects, @classes, @rows, @left_out, @traced, @count = objects, classes, rows, left_out, traced, count
        @duplicates = duplicates
      end

      # Strings with the same contents, those that waste most first: an Array of Duplicates::Group.
      attr_reader :duplicates

      # Were any allocations traced?
      def traced? = traced.positive?

      def inspect = "#<#{self.class} #{count} objects, #{traced} traced>"
    end
  end
end
