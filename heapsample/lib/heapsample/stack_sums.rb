# frozen_string_literal: true

module HeapSample
  module Tool
    # One value of a profile summed by stack, as formats want it that know no rows.
    module StackSums
      VALUES = {
        "inuse_space" => [Columns::INUSE + 2, nil], "inuse_objects" => [Columns::INUSE + 1, nil],
        "alloc_space" => [Columns::ALLOC + 2, nil], "alloc_objects" => [Columns::ALLOC + 1, nil],
        "malloc_inuse_space" => [Columns::INUSE + 2, true], "slots_inuse_space" => [Columns::INUSE + 2, false]
      }.freeze

      module_function

      # Stack handle => value, rounded; those at 0 are left out.
      def of(profile, name)
        column, malloced = VALUES.fetch(name)
        sums = Hash.new(0)
        profile.table.each do |row|
          value = row[column]
          sums[row[Columns::STACK]] += value if value > 0 && (malloced.nil? || row[Columns::MALLOC] == malloced)
        end
        sums.sort.filter_map { |handle, sum| [handle, sum.round] if sum.round > 0 }
      end
    end
  end
end
