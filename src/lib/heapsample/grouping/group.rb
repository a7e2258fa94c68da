# frozen_string_literal: true

module HeapSample
  # Rows that share a line, method, file, class, type, gem, function or library,
  # summed.  Live memory is of slots and of malloc together.
  class Group
    # A Place, or the name of a class, type, gem, function or library, or the value of a label.
    attr_reader :key
    attr_reader :inuse, :young, :alloc, :freed
    # The part of live memory that is malloc memory.
    attr_reader :malloc
    # Bytes of live slots with what they hold outside.
    attr_reader :memsize
    # Estimates: free bytes of heap pages that live slots hold; and live slots in memory that a forked process no
    # longer shares.
    attr_reader :holds_free, :unshared
    # Of these, bytes held by objects that GC.compact must not move; and bytes allocated since the fork.
    attr_reader :holds_free_pinned, :unshared_allocated
    # Bytes of live memory that no major GC has examined.
    attr_reader :awaiting

    # +major_gc+: the GC count from which on no major GC has examined allocations; nil if it is not known.
    def initialize(key, major_gc: nil)
      @major_gc = major_gc
      @awaiting = 0.0
      @key = key
      @inuse = Estimate.new
      @young = Estimate.new
      @alloc = Estimate.new
      @freed = Estimate.new
      @malloc = Estimate.new
      @memsize = 0.0
      @holds_free = Estimate.new
      @unshared = Estimate.new
      @holds_free_pinned = 0.0
      @unshared_allocated = 0.0
      @freed_gcs = 0.0
      @gc_sum = 0.0
      @aged = 0.0
      @live_by_class = Hash.new(0.0)
    end

    def add(row) # :nodoc:
      malloc = row[Columns::MALLOC]
      slot_size = row[Columns::SLOT_SIZE]
      @freed_unknown ||= slot_size.zero? && !malloc     # another program's row
      @malloc.add_columns(row, Columns::INUSE, 0) if malloc && row[Columns::INUSE_OBJECTS] > 0
      add_inuse(row, slot_size) if row[Columns::INUSE_OBJECTS] > 0
      if row[Columns::YOUNG_OBJECTS] > 0
        @young.add_columns(row, Columns::YOUNG, slot_size)
        @live_by_class[row[Columns::CLASS]] += row[Columns::YOUNG_SPACE]
      end
      @alloc.add_columns(row, Columns::ALLOC, slot_size) if row[Columns::ALLOC_OBJECTS] > 0
      return unless row[Columns::FREED_OBJECTS] > 0

      @freed.add_columns(row, Columns::FREED, slot_size)
      @freed_gcs += row[Columns::FREED_GCS]
    end

    # Adds another group's sums.
    def merge(group) # :nodoc:
      @inuse.add(group.inuse)
      @young.add(group.young)
      @alloc.add(group.alloc)
      @freed.add(group.freed)
      @malloc.add(group.malloc)
      @memsize += group.memsize
      @holds_free.add(group.holds_free)
      @unshared.add(group.unshared)
      @holds_free_pinned += group.holds_free_pinned
      @unshared_allocated += group.unshared_allocated
      @awaiting += group.awaiting
      @freed_gcs += group.freed_gcs
      @freed_unknown ||= group.freed_unknown
      @gc_sum += group.gc_sum
      @aged += group.aged
      group.live_by_class.each { |reference, space| @live_by_class[reference] += space }
      self
    end

    # call-seq:
    #   age(gc_count) -> Float or nil
    #
    # Mean number of GCs since live memory was allocated; nil if not known.
    def age(gc_count)
      gc_count - @gc_sum / @aged if gc_count && @aged > 0
    end

    # Mean number of GCs that freed objects had survived; nil if there are none.
    def lifetime
      @freed_gcs / @freed.objects.to_f if @freed.objects > 0
    end

    # Share of allocated memory that was freed, by bytes; nil if nothing was allocated.
    def freed_share
      [@freed.space / @alloc.space.to_f, 1.0].min if @alloc.space > 0 && @alloc.samples > 0 && !freed_unknown
    end

    # The 95% interval of #freed_share; nil if there is none, or it is not known.
    def freed_interval
      share = freed_share or return

      Statistics.proportion(share, total: @alloc.space, variance: @alloc.variance, size: @alloc.mean_size)
    end

    # Bytes of live slots.
    def slots_space
      @malloc.space.zero? ? @inuse.space : [@inuse.space - @malloc.space, 0].max
    end

    # Bytes (live and young) by class reference, largest first.
    def classes
      @live_by_class.sort_by { |reference, space| [-space, reference.to_s] }
    end

    protected

    attr_reader :freed_unknown, :freed_gcs, :gc_sum, :aged, :live_by_class

    private

    def add_inuse(row, slot_size)
      @inuse.add_columns(row, Columns::INUSE, slot_size)
      @memsize += row[Columns::MEMSIZE]
      add_where_it_lies(row)
      @live_by_class[row[Columns::CLASS]] += row[Columns::INUSE_SPACE]
      allocation_gc = row[Columns::ALLOCATION_GC]
      return unless allocation_gc

      @awaiting += row[Columns::INUSE_SPACE] if @major_gc && allocation_gc >= @major_gc
      @gc_sum += allocation_gc * row[Columns::INUSE_OBJECTS]
      @aged += row[Columns::INUSE_OBJECTS]
    end

    def add_where_it_lies(row)
      @holds_free.add_share(row, Columns::HOLDS_FREE)
      @unshared.add_share(row, Columns::UNSHARED)
      @holds_free_pinned += row[Columns::HOLDS_FREE_PINNED]
      @unshared_allocated += row[Columns::UNSHARED_ALLOCATED]
    end
  end
end
