# frozen_string_literal: true

module HeapSample
  # Rows that share a line, method, file, class, type, gem, function or library,
  # summed.  What is in use is of slots and of malloc together.
  class Group
    # A Place, or the name of a class, type, gem, function or library, or the value of a label.
    attr_reader :key
    attr_reader :inuse, :young, :alloc, :dead
    # That part of what is in use which malloc gave.
    attr_reader :malloc
    # Bytes of the slots in use with what they hold outside.
    attr_reader :memsize
    # Estimates: free bytes of heap pages that what is in use holds; and what of it lies on memory that a forked
    # process does not share any more.
    attr_reader :holds_free, :unshared
    # Of these, bytes that are held by what GC.compact must not move; and that were born since the fork.
    attr_reader :holds_free_pinned, :unshared_born
    # Bytes of what is in use that no major GC has looked at.
    attr_reader :awaiting

    # +major_gc+: from which GC count on no major GC has looked at what was born; nil if that is not known.
    def initialize(key, major_gc: nil)
      @major_gc = major_gc
      @awaiting = 0.0
      @key = key
      @inuse = Estimate.new
      @young = Estimate.new
      @alloc = Estimate.new
      @dead = Estimate.new
      @malloc = Estimate.new
      @memsize = 0.0
      @holds_free = Estimate.new
      @unshared = Estimate.new
      @holds_free_pinned = 0.0
      @unshared_born = 0.0
      @dead_gcs = 0.0
      @births = 0.0
      @born = 0.0
      @live_by_class = Hash.new(0.0)
    end

    def add(row) # :nodoc:
      malloc = row[Columns::MALLOC]
      slot_size = row[Columns::SLOT_SIZE]
      @deaths_untold ||= slot_size.zero? && !malloc     # another program's row
      @malloc.add_columns(row, Columns::INUSE, 0) if malloc && row[Columns::INUSE_OBJECTS] > 0
      add_inuse(row, slot_size) if row[Columns::INUSE_OBJECTS] > 0
      if row[Columns::YOUNG_OBJECTS] > 0
        @young.add_columns(row, Columns::YOUNG, slot_size)
        @live_by_class[row[Columns::CLASS]] += row[Columns::YOUNG_SPACE]
      end
      @alloc.add_columns(row, Columns::ALLOC, slot_size) if row[Columns::ALLOC_OBJECTS] > 0
      return unless row[Columns::DEAD_OBJECTS] > 0

      @dead.add_columns(row, Columns::DEAD, slot_size)
      @dead_gcs += row[Columns::DEAD_GCS]
    end

    # Adds another group's sums.
    def merge(group) # :nodoc:
      @inuse.add(group.inuse)
      @young.add(group.young)
      @alloc.add(group.alloc)
      @dead.add(group.dead)
      @malloc.add(group.malloc)
      @memsize += group.memsize
      @holds_free.add(group.holds_free)
      @unshared.add(group.unshared)
      @holds_free_pinned += group.holds_free_pinned
      @unshared_born += group.unshared_born
      @awaiting += group.awaiting
      @dead_gcs += group.dead_gcs
      @deaths_untold ||= group.deaths_untold
      @births += group.births
      @born += group.born
      group.live_by_class.each { |reference, space| @live_by_class[reference] += space }
      self
    end

    # call-seq:
    #   age(gc_count) -> Float or nil
    #
    # Mean number of GCs since the birth of what is in use; nil if not known.
    def age(gc_count)
      gc_count - @births / @born if gc_count && @born > 0
    end

    # Mean number of GCs that the dead had survived; nil if there are none.
    def lifetime
      @dead_gcs / @dead.objects.to_f if @dead.objects > 0
    end

    # Share of what was allocated that was found dead, by bytes; nil if nothing was allocated.
    def dead_share
      [@dead.space / @alloc.space.to_f, 1.0].min if @alloc.space > 0 && @alloc.samples > 0 && !deaths_untold
    end

    # The 95% interval of #dead_share; nil if there is none, or it is not known.
    def dead_interval
      share = dead_share or return

      Statistics.proportion(share, total: @alloc.space, variance: @alloc.variance, size: @alloc.mean_size)
    end

    # Bytes of the slots in use.
    def slots_space
      @malloc.space.zero? ? @inuse.space : [@inuse.space - @malloc.space, 0].max
    end

    # Live bytes (in use and young) by class reference, largest first.
    def classes
      @live_by_class.sort_by { |reference, space| [-space, reference.to_s] }
    end

    protected

    attr_reader :deaths_untold, :dead_gcs, :births, :born, :live_by_class

    private

    def add_inuse(row, slot_size)
      @inuse.add_columns(row, Columns::INUSE, slot_size)
      @memsize += row[Columns::MEMSIZE]
      add_where_it_lies(row)
      @live_by_class[row[Columns::CLASS]] += row[Columns::INUSE_SPACE]
      birth = row[Columns::BIRTH_GC]
      return unless birth

      @awaiting += row[Columns::INUSE_SPACE] if @major_gc && birth >= @major_gc
      @births += birth * row[Columns::INUSE_OBJECTS]
      @born += row[Columns::INUSE_OBJECTS]
    end

    def add_where_it_lies(row)
      @holds_free.add_share(row, Columns::HOLDS_FREE)
      @unshared.add_share(row, Columns::UNSHARED)
      @holds_free_pinned += row[Columns::HOLDS_FREE_PINNED]
      @unshared_born += row[Columns::UNSHARED_BORN]
    end
  end
end
