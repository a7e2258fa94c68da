# frozen_string_literal: true

module HeapSample
  # Samples that agree in all but their number: one stack, class, type, slot
  # size, thread and GC of birth.  One of malloc'd memory has class and type
  # "(malloc)", slot size 0, and no young; in files of format 2 and 1 neither
  # birth nor dead.
  class Row
    attr_reader :profile
    # The row as it is in Profile#table.
    attr_reader :columns

    def initialize(profile, columns)
      @profile = profile
      @columns = columns
    end

    # Frames, leaf first.
    def stack
      profile.stacks.stack(columns[Columns::STACK])
    end

    def class_name
      profile.text(columns[Columns::CLASS])
    end

    # Equal for rows of the same objects in profiles of one session, which share
    # +interner+: see Stacks#identity.
    def identity(interner)
      [profile.stacks.identity(columns[Columns::STACK], interner), class_name, type, slot_size, thread, birth_gc]
    end

    # "T_STRING", …
    def type
      profile.text(columns[Columns::TYPE])
    end

    # Is it of memory that malloc gave?
    def malloc?
      columns[Columns::MALLOC]
    end

    # Base name of the file whose code called malloc; "" if it is not known, or
    # the row is of slots.
    def library
      profile.text(columns[Columns::LIBRARY])
    end

    # Estimated bytes of the slots in use with what their objects hold outside;
    # 0 unless the profile was asked to measure it.
    def memsize
      columns[Columns::MEMSIZE]
    end

    # Estimated bytes of what is in use that the kernel has in memory: less than
    # inuse.space where part of a block was never touched.
    def resident
      columns[Columns::RESIDENT]
    end

    # Bytes; 0 of malloc.
    def slot_size
      columns[Columns::SLOT_SIZE]
    end

    # Serial of the allocating thread; 0 for several.
    def thread
      columns[Columns::THREAD]
    end

    # The GC count when the objects were born; nil if the row has totals only.
    def birth_gc
      columns[Columns::BIRTH_GC]
    end

    # Objects that the last completed mark found alive; what is allocated now.
    def inuse = estimate(Columns::INUSE)

    # Objects born since that mark.
    def young = estimate(Columns::YOUNG)

    # Everything born since sampling started.  In files of format 2 only the number
    # of samples is known of malloc, as a rule; see Meta#malloc_alloc_known?.
    def alloc = estimate(Columns::ALLOC)

    # Of these, what was found dead, or freed.
    def dead = estimate(Columns::DEAD)

    # GCs survived by the dead, summed over objects.
    def dead_gcs
      columns[Columns::DEAD_GCS]
    end

    def inspect
      "#<#{self.class} #{class_name} #{malloc? ? library : "#{slot_size} B"}, in use #{inuse.inspect}, #{stack.first || "no stack"}>"
    end

    private

    def estimate(at)
      Estimate.new.add_columns(columns, at, slot_size)
    end
  end
end
