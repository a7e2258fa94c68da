# frozen_string_literal: true

module HeapSample
  # What rows are grouped by when grouped by code: +line+ and +label+ are nil
  # where they do not matter.
  Place = Struct.new(:path, :line, :label)
end
