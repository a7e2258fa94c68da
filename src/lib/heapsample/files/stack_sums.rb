# frozen_string_literal: true
# shareable_constant_value: literal

module HeapSample
  # One value of a profile summed by stack, as formats want it that know no rows.
  module StackSums
    VALUES = {
      "inuse_space" => [Columns::INUSE_SPACE, nil], "inuse_objects" => [Columns::INUSE_OBJECTS, nil],
      "alloc_space" => [Columns::ALLOC_SPACE, nil], "alloc_objects" => [Columns::ALLOC_OBJECTS, nil],
      "malloc_inuse_space" => [Columns::INUSE_SPACE, true], "slots_inuse_space" => [Columns::INUSE_SPACE, false]
    }

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
