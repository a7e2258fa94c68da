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

    # Is it of memory that malloc gave?
    def malloc? = row.malloc?
    # As HeapSample::Row#stack.
    def stack = row.stack
    # As HeapSample::Row#class_name.
    def class_name = row.class_name
    # As HeapSample::Row#type.
    def type = row.type
    # As HeapSample::Row#slot_size.
    def slot_size = row.slot_size
    # As HeapSample::Row#thread.
    def thread = row.thread
    # As HeapSample::Row#allocation_gc.
    def allocation_gc = row.allocation_gc
  end
end
