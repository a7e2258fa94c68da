# frozen_string_literal: true

module HeapSample
  # Rows of a difference, summed.
  class GrowthGroup
    include Net

    # A Place, or the name of a class, type, gem, function or library.
    attr_reader :key
    attr_reader :gained, :lost
    # Gained bytes that no major GC has examined.
    attr_reader :awaiting

    def initialize(key)
      @key = key
      @gained = Estimate.new
      @lost = Estimate.new
      @awaiting = 0.0
      @classes = Hash.new(0.0)
    end

    def add(row) # :nodoc:
      @gained.add(row.gained)
      @awaiting += row.gained.space if row.row.profile.info.awaits_major?(row.allocation_gc)
      @lost.add(row.lost)
      @classes[row.class_name] += row.space
      self
    end

    # Adds another group's sums.
    def merge(group) # :nodoc:
      @gained.add(group.gained)
      @awaiting += group.awaiting
      @lost.add(group.lost)
      self
    end

    # Names of classes with their bytes of growth, the largest change first.
    def classes
      @classes.sort_by { |name, space| [-space.abs, name] }
    end
  end
end
