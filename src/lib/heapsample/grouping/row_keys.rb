# frozen_string_literal: true

module HeapSample
  # What a row of a series is grouped by: Keys, or whole stacks.
  module RowKeys
    # What answers #of(row).
    def self.of(profile, by) = by == :stack ? ByStack.new(profile) : Keys.new(profile, by)

    # A stack is its frames, which are the same in each profile of a series.
    class ByStack
      def initialize(profile)
        @stacks = profile.stacks
        @keys = {}
      end

      # Array of Frame, leaf first.
      def of(row) = @keys[row[Columns::STACK]] ||= @stacks.stack(row[Columns::STACK])
    end
  end
end
