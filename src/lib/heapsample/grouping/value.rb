# frozen_string_literal: true

module HeapSample
  # A value of rows that they can be ranked by, named as in a file: "inuse_space",
  # "slots_alloc_objects", …  It names an estimate, its bytes or objects, and the kind of memory.
  class Value
    # What a report calls the estimates.
    TITLES = {
      inuse: "Live memory (objects that survived the last GC)",
      young: "Young memory (allocated since the last GC, so it may be garbage)",
      alloc: "Allocated since sampling started",
      freed: "Freed, of what was allocated since sampling started"
    }.freeze
    MALLOC_TITLE = "Live memory (objects that survived the last GC, and malloc blocks not freed)"
    RESIDENT_TITLE = "Live and resident memory (without memory that was never touched)"
    MEMORY_TITLES = {both: "", slots: ", heap slots only", malloc: ", malloc only"}.freeze
    MEMSIZE = :inuse_memsize
    RESIDENT = :inuse_resident
    # Other figures of live slots, in columns of their own: name, and what a report calls it.
    SHARES = {
      holds_free: "Free memory of heap pages, by the objects that hold it (each object of a page gets an equal part)",
      unshared: "Live slots in memory that was shared with the parent process at the fork, and no longer is"
    }.freeze

    # What a profile of slots and malloc has, and what is of one of them.
    NAMES = [
      *Columns::PARTS.keys.product(%i[space objects]).map { |part, measure| :"#{part}_#{measure}" },
      *%w[slots malloc].product(%w[inuse alloc], %w[space objects]).map { |words| words.join("_").to_sym },
      MEMSIZE, RESIDENT, *SHARES.keys
    ].freeze

    # One of NAMES.
    attr_reader :name
    # :inuse, :young, :alloc or :freed.
    attr_reader :part
    # :space or :objects.
    attr_reader :measure
    # :both, :slots or :malloc.
    attr_reader :kind

    # call-seq:
    #   Value.of(name, kind = :both) -> value
    #
    # The value of that +name+, a Symbol or String, of rows of one +kind+.  Raises
    # ArgumentError on another name, and where the two contradict each other.
    def self.of(name, kind = :both)
      Groups.wanted(kind)
      name = name.to_sym if name.is_a?(String)
      return new(name, kind) if NAMES.include?(name)

      raise ArgumentError, "cannot rank by #{name.inspect}: value must be one of #{NAMES.join(", ")}"
    end

    # " of heap slots only" where figures are not of all memory: because of the +kind+ that was asked for, or since
    # malloc was not sampled; else "".
    def self.part_of_all(profile, kind)
      return " of malloc only" if kind == :malloc

      slots = kind == :slots || !profile.malloc? && %w[off standby missing].include?(profile.info.malloc_state)
      slots ? " of heap slots only" : ""
    end

    def initialize(name, kind) # :nodoc:
      @name = name
      own = name[/\A(slots|malloc)_/, 1]&.to_sym || (:slots if memsize? || share?) || kind
      raise ArgumentError, "#{name} counts #{own}, but kind is #{kind.inspect}; use kind: #{own.inspect}" unless [:both, own].include?(kind)

      @kind = own
      part, measure = share? ? %w[inuse space] : name.to_s.delete_prefix("#{own}_").split("_")
      @part = part.to_sym
      @measure = measure == "objects" ? :objects : :space
    end

    # Is it of slots with what their objects hold outside?  It has no interval.
    def memsize?
      name == MEMSIZE
    end

    # Is it the resident part of live memory?
    def resident?
      name == RESIDENT
    end

    # Is it one of SHARES?
    def share? = SHARES.key?(name)

    # "bytes" or "objects".
    def unit
      measure == :objects ? "objects" : "bytes"
    end

    # The estimate of a Group that it is about.
    def estimate(group)
      return group.inuse.with_space(group.memsize) if memsize?
      return group.public_send(name) if share?

      resident? ? group.inuse.resident : group.public_send(part)
    end

    # Adds a row of a profile to an Estimate of the rows' value.
    def add_row(sum, row) # :nodoc:
      return sum.add_share(row, Columns.const_get(name.upcase)) if share?

      at = Columns::PARTS.fetch(part)
      return sum.add_columns(row, at, row[Columns::SLOT_SIZE]) unless memsize? || resident?

      estimate = Estimate.new.add_columns(row, at, row[Columns::SLOT_SIZE])
      sum.add(memsize? ? estimate.with_space(row[Columns::MEMSIZE]) : estimate.resident)
    end

    # Its number.
    def number(estimate)
      measure == :objects ? estimate.objects : estimate.space
    end

    # Its 95% interval; nil if that is not known.
    def interval(estimate)
      estimate.interval(measure) unless memsize?
    end

    # "38.2 MiB ±8.5 MiB in 480,327 objects, 74 samples", the ranked first.
    def amount(estimate, layout)
      return layout.amount(estimate) if estimate.zero? || !(memsize? || measure == :objects)

      samples = ", #{layout.count(estimate.samples)} samples" if estimate.samples > 0
      return "#{layout.bytes(estimate.space)}#{samples}" if memsize?

      "#{layout.count(estimate.objects)} #{layout.bracketed(estimate, :objects)} of #{layout.bytes(estimate.space)}#{samples}"
    end

    # The interval as a column has it: "±8.5 MiB", or "?".
    def interval_text(estimate, layout)
      memsize? ? "?" : layout.interval(estimate, measure)
    end

    # A title for +profile+'s rows, without figures.
    def title(profile)
      return "Live slots with the buffers of their objects" if memsize?

      return SHARES.fetch(name) if share?
      return "#{RESIDENT_TITLE}#{MEMORY_TITLES.fetch(kind)}" if resident?

      return "Objects in the dump" if part == :inuse && profile.info.dump?

      malloc = profile.malloc? && kind != :slots && part == :inuse
      "#{malloc ? MALLOC_TITLE : TITLES.fetch(part)}#{MEMORY_TITLES.fetch(kind)}"
    end
  end
end
