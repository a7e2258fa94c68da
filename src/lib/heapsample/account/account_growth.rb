# frozen_string_literal: true
# shareable_constant_value: literal

module HeapSample
  # A sentence that reads two accounts of one process: what it grows in.
  #
  #   AccountGrowth.new(later, earlier, malloc: {ruby: [52_428_800, 100]}).to_s
  #   #=> "Growing in malloc under Ruby (+50.1 MiB, 96% of what grew): RSS +52.0 MiB since sampling started."
  #
  # Live memory that grows is growth, even while it only fills what was free.
  # Waste, and whatever else is no program's data, is growth only if RSS grows.
  class AccountGrowth
    # Nothing smaller is called growth: a share of RSS, and bytes.
    SHARE = 0.05
    FLOOR = 4 * 1024 * 1024

    # What grew: +source+ is :objects, :malloc (under Ruby, or from unknown code),
    # :library, :waste or :other.
    Part = Struct.new(:source, :name, :bytes)

    LIVE = %i[objects malloc library]
    NAMES = {
      "slots_free" => [:waste, "free slots in heap pages"],
      "malloc_waste" => [:waste, "fragmentation and caches of malloc"],
      "malloc_metadata" => [:other, "malloc's own data"],
      "stacks" => [:other, "stacks of threads and fibers"],
      "code_and_files" => [:other, "code and mapped files"],
      "jit" => [:other, "JIT code"],
      "sampler" => [:other, "the sampler itself"],
      "unattributed" => [:other, "unattributed memory"]
    }
    RUBY_FILE = /\A(?:ruby[-\d.]*|libruby.*\.so.*)\z/

    # Live malloc by the library whose code asked for it, as far as it is resident, as the
    # account's is: {:ruby => [bytes,
    # samples], "libxml2.so.2" => …}; empty if the profile has no such rows.
    def self.malloc_of(profile)
      sum(profile.table.map { |columns| [profile, columns, columns[Columns::RESIDENT], columns[Columns::INUSE]] })
    end

    # The same of a Growth: by how much it grew.
    def self.malloc_growth(growth)
      sum(growth.rows.map { |row| [row.row.profile, row.row.columns, row.resident_space, row.samples] })
    end

    def self.sum(rows) # :nodoc:
      rows.each_with_object({}) do |(profile, columns, space, samples), sums|
        next unless columns[Columns::MALLOC]

        library = profile.text(columns[Columns::LIBRARY] || "")
        sum = (sums[RUBY_FILE.match?(library) ? :ruby : library] ||= [0.0, 0])
        sum[0] += space
        sum[1] += samples
      end
    end
    private_class_method :sum

    # +malloc+: see AccountGrowth.malloc_of; +since+: when +earlier+ was, as text.
    def initialize(later, earlier, malloc: {}, since: "since sampling started")
      @later = later
      @changes = later.since(earlier)
      @rss = later.rss - earlier.rss if later.rss && earlier.rss
      @malloc = malloc
      @since = since
    end

    # The Parts that grew, the largest first.
    def parts
      grown.select { |part| part.bytes >= threshold && (LIVE.include?(part.source) || rss_grew?) }
    end

    def to_s
      return "Whether the process grows is not known: /proc could not be read." unless @rss

      return nothing if parts.empty?

      *others, last = parts.map { |part| phrase(part) }
      "Growing #{[*(others.join(", ") unless others.empty?), last].join(" and ")}: #{total}.#{hint}"
    end

    private

    def bytes(size, sign: false) = Layout.new.bytes(size, sign: sign)

    def threshold
      [SHARE * (@later.rss || 0), FLOOR].max
    end

    def rss_grew?
      @rss && @rss >= threshold
    end

    def grown
      @grown ||= [Part.new(:objects, "Ruby objects", change("slots_live") + headroom), *malloc_parts,
                  *NAMES.map { |field, (source, name)| Part.new(source, name, change(field) - (field == "slots_free" ? headroom : 0)) }]
                 .select { |part| part.bytes > 0 }.sort_by.with_index { |part, index| [-part.bytes, index] }
    end

    # So many bytes of free slots for each of live ones are no waste: GC keeps
    # them for the next objects, and gives pages back only when more than 65% of a
    # heap's slots are free (GC_HEAP_FREE_SLOTS_MAX_RATIO).  So they belong to the
    # objects that grew, and no others do.
    HEADROOM = 0.65 / 0.35

    def headroom
      [[change("slots_free"), change("slots_live") * HEADROOM].min, 0].max
    end

    def change(field)
      @changes[field] || 0
    end

    # The account has the exact amount, and samples show which library allocated it.  Samples are rough
    # and may add up to more: then all are scaled down.
    def malloc_parts
      all = @changes["malloc_live"] || 0
      sampled = @malloc.transform_values(&:first).select { |_, bytes| bytes > 0 }
      scale = [1.0, all / [sampled.values.sum, 1].max.to_f].min
      parts = sampled.map do |library, bytes|
        library == :ruby ? Part.new(:malloc, "malloc under Ruby", bytes * scale) : library_part(library, bytes * scale)
      end
      parts << Part.new(:malloc, @malloc.empty? ? "malloc" : "malloc memory without samples", all - parts.sum(&:bytes))
    end

    def library_part(library, bytes)
      Part.new(:library, library.empty? ? "C code of no known library" : "the C library #{library}", bytes)
    end

    def phrase(part)
      share = part.bytes / grown.sum(&:bytes).to_f
      "in #{part.name} (#{bytes(part.bytes, sign: true)}, #{(share * 100).round}% of what grew)"
    end

    def total
      "RSS #{bytes(@rss, sign: true)} #{@since}"
    end

    def nothing
      return "Not growing: #{total}, and no part grew by #{bytes(threshold)}." unless rss_grew?

      most = grown.empty? ? "and no known part grew" : "most of it #{phrase(grown.first)}"
      "Growing, but no part grew by #{bytes(threshold)}: #{total}, #{most}."
    end

    def hint
      return unless @malloc.empty? && parts.any? { |part| part.source == :malloc }

      " Sample with malloc=on to see which library allocated it."
    end
  end
end
