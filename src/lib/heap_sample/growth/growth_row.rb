# frozen_string_literal: true

module HeapSample
  # A row of a difference: what its objects gained and lost in between.
  class GrowthRow
    include Net

    # The HeapSample::Row of either profile that it is about.
    attr_reader :row
    attr_reader :gained, :lost

    def initialize(row, gained, lost)
      @row = row
      @gained = gained
      @lost = lost
    end

    def malloc? = row.malloc?
    def stack = row.stack
    def class_name = row.class_name
    def type = row.type
    def slot_size = row.slot_size
    def thread = row.thread
    def birth_gc = row.birth_gc
  end
end
