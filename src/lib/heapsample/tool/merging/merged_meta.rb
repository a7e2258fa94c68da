# frozen_string_literal: true

module HeapSample
  module Tool
    # The header of a merged profile: sums where a sum means something,
    # what all agree on, and null for the rest (doc/format.md, Merged profiles).
    class MergedMeta
      SAME = %w[format generator ruby memsize].freeze
      SETTINGS = %w[interval first_interval max_samples only_n].freeze
      DROPS = %w[samples stacks frames classes moves].freeze
      HEAP_SUMS = %w[total_slots live_slots live_at_start].freeze
      # Not known where one of the parts is not.
      HEAP_USE = %w[pages pinned_pages held_slots compact_bytes].freeze
      MALLOC_STATES = %w[on standby off missing].freeze
      # Parts of the account that are in "unattributed" where they are not known.
      MALLOC_PARTS = %w[malloc_live malloc_waste malloc_metadata].freeze
      ACCOUNTS = %w[account account_at_start].freeze
      NONE = Object.new.freeze

      def initialize
        @count = 0
        @processes = 0
        @same = {}
        @sums = Hash.new(0)
        @heaps = {}
        @accounts = {}
        @alive = MergedAlive.new
        @states = []
        @malloc = {}
      end

      def add(meta)
        @count += 1
        @foreign = true if meta.empty?
        merged = Meta.new(meta).merged_processes
        @processes += merged || 1
        @sums["evicted"] += integer(dig(meta, "merged", "evicted_rows")) || 0
        SAME.each { |name| agree(name, meta[name]) }
        SETTINGS.each { |name| agree("settings.#{name}", dig(meta, "settings", name)) }
        @sums["settings.interval_changes"] += integer(dig(meta, "settings", "interval_changes")) || 0
        %w[live_samples own_bytes].each { |name| add_to(name, meta[name]) }
        DROPS.each { |name| add_to("drops.#{name}", dig(meta, "drops", name)) }
        times(meta)
        heaps(meta["heaps"])
        malloc(meta["malloc"])
        ACCOUNTS.each { |name| account(name, meta[name]) }
        @alive.add(meta["alive"])
      end

      def to_h(files:, evicted:)
        return {} if @foreign || @count.zero?

        {**SAME.first(3).to_h { |name| [name, agreed(name)] }}.merge(
          "process_id" => nil, "process_start" => nil, "parent_id" => nil, "title" => nil, "directory" => nil, "gemfile" => nil, "host" => nil, "deploy" => nil, "session" => nil,
          "started_ns" => @started, "taken_ns" => @taken, "objects" => nil, "reason" => nil,
          "gc" => {"count" => @gc_count, "minor" => nil, "major" => nil, "last_minor_ns" => nil, "last_major_ns" => nil,
                   "times" => nil, "majors" => nil, "last_major_gc" => nil, "log" => nil, "causes" => [], "cpu_ns" => nil},
          "forced" => nil,
          "settings" => settings, "live_samples" => sum("live_samples"),
          "drops" => DROPS.to_h { |name| [name, sum("drops.#{name}")] }, "own_bytes" => sum("own_bytes"),
          "heaps" => @heaps&.values || [], "malloc" => merged_malloc, "memsize" => agreed("memsize") == true,
          **ACCOUNTS.to_h { |name| [name, merged_account(name)] }, "alive" => @alive.to_h, "inherited" => nil, "inherited_missing" => nil,
          "merged" => {"processes" => @processes, "profiles" => files, "evicted_rows" => evicted + sum("evicted")}
        )
      end

      private

      def dig(meta, *names)
        names.inject(meta) { |value, name| value.is_a?(Hash) ? value[name] : nil }
      end

      def integer(value)
        value if value.is_a?(Integer)
      end

      # One that all have, or nil.
      def agree(name, value, known = @same)
        known[name] = known.key?(name) && known[name] != value ? NONE : value
      end

      def agreed(name, known = @same)
        value = known[name]
        value.equal?(NONE) ? nil : value
      end

      # A sum is not known if a part of it is not.
      def add_to(name, value)
        @sums[name] = @sums[name] && integer(value) ? @sums[name] + value : nil
      end

      def sum(name)
        @sums[name]
      end

      def times(meta)
        started, taken, count = integer(meta["started_ns"]), integer(meta["taken_ns"]), integer(dig(meta, "gc", "count"))
        @started = [@started, started].compact.min
        @taken = [@taken, taken].compact.max
        @gc_count = [@gc_count, count].compact.max
      end

      # An interval that is not the same everywhere is none.
      def settings
        values = SETTINGS.to_h { |name| [name, agreed("settings.#{name}")] }
        values.merge("interval_changes" => sum("settings.interval_changes"), "seed" => nil)
      end

      def heaps(heaps)
        return @heaps = nil unless @heaps && heaps.is_a?(Array) && heaps.all?(Hash)

        heaps.each do |heap|
          total = @heaps[heap["slot_size"]] ||= {"slot_size" => heap["slot_size"], **(HEAP_SUMS + HEAP_USE).to_h { |name| [name, 0] }}
          HEAP_SUMS.each { |name| total[name] += integer(heap[name]) || 0 }
          HEAP_USE.each { |name| total[name] = (total[name] + heap[name] if total[name] && integer(heap[name])) }
        end
      end

      def malloc(values)
        values = {} unless values.is_a?(Hash)
        @states << values["state"] unless @states.include?(values["state"])
        agree("allocator", values["allocator"], @malloc)
        return unless values["state"] == "on"

        %w[interval first_interval missing].each { |name| agree(name, values[name], @malloc) }
        @sums["malloc.interval_changes"] += integer(values["interval_changes"]) || 0
      end

      # On if it was on anywhere.
      def merged_malloc
        state = MALLOC_STATES.find { |name| @states.include?(name) } || "missing"
        {"state" => state, "interval" => agreed("interval", @malloc), "first_interval" => agreed("first_interval", @malloc),
         "interval_changes" => sum("malloc.interval_changes"),
         "allocator" => agreed("allocator", @malloc), "missing" => agreed("missing", @malloc)}
      end

      def account(name, values)
        return @accounts[name] = nil unless values.is_a?(Hash) && (!@accounts.key?(name) || @accounts[name])

        (@accounts[name] ||= []).then { |list| list.empty? ? list << values : list[0] = added(list[0], values) }
      end

      # Parts still add up to rss: what is known of malloc on one side only is, on
      # both, not attributed.
      def added(one, other)
        one, other = [one, other].map { |account| account.merge("jemalloc" => nil) } unless one["jemalloc"].is_a?(Hash) && other["jemalloc"].is_a?(Hash)
        if MALLOC_PARTS.any? { |part| one[part].nil? != other[part].nil? }
          one, other = [one, other].map do |account|
            known = MALLOC_PARTS.sum { |part| integer(account[part]) || 0 }
            account.merge(MALLOC_PARTS.to_h { |part| [part, nil] }, "unattributed" => (integer(account["unattributed"]) || 0) + known)
          end
        end
        one.to_h { |name, value| [name, together(name, value, other[name])] }
      end

      def together(name, one, other)
        case name
        when "taken_ns" then [integer(one), integer(other)].compact.max
        when "allocator" then one == other ? one : nil
        when "jemalloc" then one && other && one.to_h { |field, value| [field, together(field, value, other[field])] }
        else integer(one) && integer(other) ? one + other : nil
        end
      end

      def merged_account(name)
        @accounts[name]&.first
      end
    end
  end
end
