# frozen_string_literal: true

module HeapSample
  # The header of a profile, by the names that doc/format.md freezes.
  # Everything is nil if the profile does not have it, or has an invalid value.
  class Meta
    NS_PER_S = 1_000_000_000r
    MALLOC_STATES = %w[on standby off missing].freeze
    # The #reason of a heap dump.
    DUMP = "dump"

    # The Hash itself, as in the file.
    attr_reader :values

    def initialize(values)
      @values = values
    end

    # The version of the file's format.
    def format = number("format")
    # The text that <tt>ruby -v</tt> printed.
    def ruby = at("ruby").then { |text| text if text.is_a?(String) }
    # The process that was sampled; nil of merged profiles.
    def process_id = number("process_id")
    # Its parent's, at the snapshot.
    def parent_id = number("parent_id")
    # What ps shows of it, without arguments: "puma: cluster worker 0", "ruby app.rb".
    def title = text("title")
    # Its working directory.
    def directory = text("directory")
    # The folder of its Gemfile, where BUNDLE_GEMFILE named one when it started.
    def gemfile = text("gemfile")
    # The machine, or the container, that it runs on.
    def host = text("host")
    # What deploy= calls the deploy that it is of.
    def deploy = text("deploy")
    # Equal in profiles of one process and different after a fork.
    def process_start = at("process_start")
    # The number of the session in its process.
    def session = number("session")
    # Mean bytes between two samples: now, and when sampling started.
    def interval = number("settings", "interval")
    # The interval at the session's start.
    def first_interval = number("settings", "first_interval")
    # How often the interval changed.
    def interval_changes = number("settings", "interval_changes") || 0
    # How often the sampler had too many samples, and took away or weighted anew some that it held.
    def thinnings = number("settings", "thinnings")
    # Equal in two profiles of a session if what is a sample in both stands for the same in both.  A file without
    # #thinnings only shows whether the interval has changed.
    def weights = thinnings || [interval, interval_changes] # :nodoc:
    # Is the interval what a budget pays for?
    def interval_auto? = at("settings", "interval_auto") == true
    # One process in so many is sampled.
    def only_n = number("settings", "only_n")
    # When the session began, a Time.
    def started = time("started_ns")
    # When the profile was taken, a Time.
    def taken = time("taken_ns")
    # GCs of the process so far.
    def gc_count = number("gc", "count")
    # Minor GCs so far.
    def gc_minor = number("gc", "minor")
    # Major GCs so far.
    def gc_major = number("gc", "major")
    # When GCs began: GCTimes.  nil of merged profiles.
    def gc_times = GCTimes.of(at("gc", "times"))
    # The major GCs, oldest first: an Array of Major, empty of merged profiles.  It covers the time since sampling began, or
    # standby.  The newest 32 are there, and older ones evenly: 128 at most.  A forked process continues the list of its
    # parent: its own major GCs are those after #began.
    def majors = Major.list(at("gc", "majors"), slot_sizes)
    # When the process began, or was forked: a Time.  nil of merged profiles.
    def began = taken && forced && taken - forced.of
    # Why the profile was taken: "periodic" (every=), "exit", "at_rss", "agent" (the agent asked, and no client of it demanded
    # a GC or a walk) "asked", or "dump".  nil where the file does not have it, and of merged profiles.
    def reason = text("reason")
    # Is it of a heap dump?  Then everything is counted, and the time is the file's.
    def dump? = reason == DUMP
    # How many objects the process had allocated when the profile was taken.  nil of merged profiles.
    def objects = number("objects")
    # The GCs and heap walks that were forced on the process: ForcedWork.  nil of merged profiles.
    def forced = ForcedWork.of(at("forced"))
    # When the last major GC ended to mark, a Time.
    def last_major = time("gc", "last_major_ns")
    # Its GC count: no major GC has examined what was allocated at it or later.
    def last_major_gc = number("gc", "last_major_gc")

    # call-seq:
    #   awaits_major?(allocation_gc) -> true or false
    #
    # Has no major GC examined what was allocated at that GC count?  false where it is not known.
    def awaits_major?(allocation_gc)
      return false unless allocation_gc

      last_major_gc ? allocation_gc >= last_major_gc : gc_major == 0
    end

    # When the last minor GC ended to mark, a Time.
    def last_minor = time("gc", "last_minor_ns")
    # Samples that the sampler held.
    def live_samples = number("live_samples")
    # Memory of the sampler itself.
    def own_bytes = number("own_bytes")

    # "on", "standby", "off" or "missing".
    def malloc_state = at("malloc", "state").then { |text| text if MALLOC_STATES.include?(text) }
    # Mean bytes between two samples of malloc.
    def malloc_interval = number("malloc", "interval")
    # The same when the session began to sample it, and how often it changed.
    def malloc_first_interval = number("malloc", "first_interval")
    # How often the interval of malloc changed.
    def malloc_interval_changes = number("malloc", "interval_changes") || 0
    # As #thinnings, of malloc.
    def malloc_thinnings = number("malloc", "thinnings")
    # As #weights, of malloc.
    def malloc_weights = malloc_thinnings || [malloc_interval, malloc_interval_changes] # :nodoc:
    # Is the interval of malloc what a budget pays for?
    def malloc_interval_auto? = at("malloc", "interval_auto") == true
    # Which malloc the process has, and why it is not sampled: Strings.
    def malloc_allocator = text("malloc", "allocator")
    # Why malloc is not sampled, or what its stacks lack; nil if nothing is missing.
    def malloc_missing = text("malloc", "missing")
    # Was each sampled object asked what it holds outside its slot?
    def memsize? = at("memsize") == true

    # Where the memory of the process was: an Account, or nil.  The account of the start
    # is nil in a block's profile.
    def account = Account.of(at("account"))
    # The same at the session's start.
    def account_at_start = Account.of(at("account_at_start"))

    # Its threads and fibers: an Alive, or nil.
    def alive = Alive.of(at("alive"))

    # What the walk for holders cost, or why it was refused: a Walk; nil if none was requested.
    def walk = Walk.of(at("kept"))

    # Of how many processes a merged profile is the sum, and of how many files; nil
    # of one that is not merged.
    def merged_processes = number("merged", "processes")
    # How many files it was merged from.
    def merged_profiles = number("merged", "profiles")
    # Is it of several processes?
    def merged? = !merged_processes.nil?

    # What was lost for want of room: {"samples" => 3}, without zeros.
    def drops
      drops = at("drops")
      return {} unless drops.is_a?(Hash)

      drops.select { |_, count| count.is_a?(Integer) && count > 0 }
    end

    # Bytes of the slots that are allocated now, also of garbage that is not swept
    # yet; and of those allocated when sampling started.
    def live_bytes = heap_bytes("live_slots")
    # The same when the session started.
    def live_bytes_at_start = heap_bytes("live_at_start")

    # Bytes of free slots in heap pages on which something lives, and bytes of pages that GC.compact could empty at
    # most, if each object stays in its heap: as the last major GC left them.  nil where it is not known.
    def held_bytes = heap_sum("held_slots", "slot_size")
    # See #held_bytes.
    def compact_bytes = heap_sum("compact_bytes")

    # Of a forked process: resident bytes of the heap pages that it has from its parent, and of these the bytes that
    # it no longer shares with any process: {bytes: …, unshared: …}.  nil if it was not forked, or this is not known.
    def inherited_pages
      bytes, unshared = number("inherited", "bytes"), number("inherited", "unshared")
      {bytes: bytes, unshared: unshared} if bytes && unshared
    end

    # Why #inherited_pages is not known; nil if it is known, or the process was not forked.
    def inherited_missing = text("inherited_missing")

    # call-seq:
    #   same_run?(other) -> true or false
    #
    # Are two profiles of the same objects of the same process?
    def same_run?(other)
      !process_start.nil? && process_start == other.process_start && session == other.session
    end

    # JSON-ready: what a report prints of it, and more; times as ISO 8601.
    def to_h
      {
        format: format, ruby: ruby, process_id: process_id, process_start: process_start,
        title: title, host: host, deploy: deploy, session: session, started: iso8601(started), taken: iso8601(taken),
        interval_bytes: interval, interval_auto: interval_auto?, first_interval_bytes: first_interval, interval_changes: interval_changes,
        only_n: only_n, live_samples: live_samples, own_bytes: own_bytes, dropped: drops,
        gc: {count: gc_count, minor: gc_minor, major: gc_major,
             last_minor: iso8601(last_minor), last_major: iso8601(last_major)},
        forced: forced&.then { |work| {**work.to_h, share: work.share} },
        malloc: {state: malloc_state, interval_bytes: malloc_interval, allocator: malloc_allocator,
                 first_interval_bytes: malloc_first_interval, interval_changes: malloc_interval_changes,
                 missing: malloc_missing},
        live_slots_bytes: live_bytes, live_slots_at_start_bytes: live_bytes_at_start
      }
    end

    private

    def iso8601(time) = time&.utc&.strftime("%Y-%m-%dT%H:%M:%S.%NZ")

    def at(*names)
      names.inject(values) { |value, name| value.is_a?(Hash) ? value[name] : nil }
    end

    def text(*names)
      value = at(*names)
      value if value.is_a?(String) && !value.empty?
    end

    def number(*names)
      value = at(*names)
      value if value.is_a?(Integer) && value >= 0
    end

    def time(*names)
      value = number(*names)
      Time.at(value / NS_PER_S) if value && value > 0 && value < 1 << 64
    end

    def slot_sizes
      heaps = at("heaps")
      sizes = heaps.is_a?(Array) ? heaps.map { |heap| heap["slot_size"] if heap.is_a?(Hash) } : []
      sizes.all?(Integer) ? sizes : []
    end

    def heap_bytes(field) = heap_sum(field, "slot_size")

    # The product of some fields of each heap, summed; nil where one of them is not known.
    def heap_sum(*fields)
      heaps = at("heaps")
      return unless heaps.is_a?(Array) && !heaps.empty?

      heaps.sum do |heap|
        numbers = heap.is_a?(Hash) ? heap.values_at(*fields) : [nil]
        return unless numbers.all?(Integer)

        numbers.inject(:*)
      end
    end
  end
end
