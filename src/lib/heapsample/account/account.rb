# frozen_string_literal: true

module HeapSample
  # Where the resident memory of a process was, in bytes; doc/format.md names the
  # parts.  Those that are known add up to #rss.
  class Account
    # What a report calls them, in its order.
    PARTS = {
      "slots_live" => "live slots",
      "slots_free" => "free slots in heap pages, page headers",
      "malloc_live" => "malloc: live",
      "malloc_waste" => "malloc: waste (fragmentation, caches)",
      "malloc_metadata" => "malloc: its own data",
      "stacks" => "stacks of threads and fibers",
      "code_and_files" => "code and mapped files",
      "jit" => "JIT code",
      "sampler" => "the sampler",
      "unattributed" => "unattributed"
    }.freeze
    # jemalloc's own figures, in bytes.
    JEMALLOC = %w[allocated active resident dirty retained metadata].freeze

    # call-seq:
    #   HeapSample::Account.of(values) -> HeapSample::Account or nil
    #
    # The Account that +values+ is, nil if it is none.
    def self.of(values)
      new(values) if values.is_a?(Hash)
    end

    def initialize(values)
      @values = values
    end

    # call-seq:
    #   account[name] -> Integer or nil
    #
    # Bytes of a part; nil if not known.
    def [](name)
      value = @values[name]
      value if value.is_a?(Integer) && value >= 0
    end

    # nil if the kernel did not report it.
    def rss = self["rss"]
    # As #rss, but a page that processes share counts in parts.
    def pss = self["pss"]

    # How many threads, or fibers, lived: {threads: 4, fibers: 0}; empty if not known.
    def alive = Alive::KINDS.keys.to_h { |kind| [kind, self[kind.to_s]] }.compact

    # "jemalloc 5.3.0"
    def allocator
      @values["allocator"].then { |name| name if name.is_a?(String) && !name.empty? }
    end

    # Parts that are known: name and bytes.
    def parts
      PARTS.keys.to_h { |name| [name, self[name]] }.compact
    end

    # Bytes of live memory: slots, malloc, stacks, and unattributed memory.
    def in_use = %w[slots_live malloc_live stacks unattributed].sum { |name| self[name].to_i }

    # call-seq:
    #   since(earlier) -> Hash
    #
    # Bytes by which each part has grown since +earlier+, where both know it.
    def since(earlier)
      parts.to_h { |name, bytes| [name, (bytes - earlier[name] if earlier[name])] }.compact
    end

    # Sizes that jemalloc gives of itself: {"allocated" => 4096}; empty if it is not the allocator.
    def jemalloc = @values["jemalloc"].then { |sizes| sizes.is_a?(Hash) ? sizes.select { |_, bytes| bytes.is_a?(Integer) } : {} }

    # A memory limit and what counts against it, in bytes; +machine+: it is the memory of the machine, not a cgroup's.
    Limit = Struct.new(:bytes, :used, :machine)

    # The memory limit with the largest used share: a Limit; nil if the file does not have it.
    def limit = (Limit.new(self["limit_bytes"], self["limit_used"], @values["limit_machine"] == true) if self["limit_bytes"] && self["limit_used"])

    # Nanoseconds that it took to read all this.
    def cost_ns = self["cost_ns"]

    # JSON-ready: the parts that are known, RSS and PSS, in bytes.
    def to_h
      {rss_bytes: rss, pss_bytes: pss, allocator: allocator, parts_bytes: parts.transform_keys(&:to_sym), **alive,
       thread_stacks_bytes: self["thread_stacks"], fiber_stacks_bytes: self["fiber_stacks"]}.compact
    end
  end
end
