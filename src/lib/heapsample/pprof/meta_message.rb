# frozen_string_literal: true

module HeapSample
  # The header of a profile, as a message of protobuf: the message Meta of doc/heap_sampler.proto.  As a Hash it
  # has String keys, in the order below.
  #
  # A name has the same number in all messages.  To add a field: its name and type in the list of its message, and its
  # number; both in doc/heap_sampler.proto, too, and in C (memory/account.h) what the sampler writes.
  module MetaMessage
    # Fields of each message by name.  A type is :number, :text, :flag, :texts (an Array), :numbers (an Array), :triples (numbers in
    # threes), the name of a message, or an Array that has the name of a message.  Where a file has no such field the Hash has
    # nil, or an empty Array; +LEFT_OUT+ are left out.
    MESSAGES = {
      meta: {
        format: :number, generator: :text, ruby: :text, process_id: :number, process_start: :text, parent_id: :number, title: :text, directory: :text,
        gemfile: :text, host: :text, deploy: :text, session: :number, started_ns: :number, taken_ns: :number, objects: :number, reason: :text, gc: :gc,
        forced: :forced, settings: :settings,
        live_samples: :number, drops: :drops, own_bytes: :number, heaps: [:heap], malloc: :malloc, memsize: :flag, account: :account,
        account_at_start: :account, alive: :alive, inherited: :inherited, inherited_missing: :text, kept: :kept, merged: :merged
      },
      gc: {count: :number, minor: :number, major: :number, last_minor_ns: :number, last_major_ns: :number, last_major_gc: :number, times: :triples,
           majors: :numbers, log: :numbers, causes: [:cause], cpu_ns: :number},
      cause: {reason: :text, gcs: :number, ns: :number, longest_stop_ns: :number},
      forced: {limit_ppm: :number, gcs: :number, gc_ns: :number, walks: :number, walk_ns: :number, longest_stop_ns: :number, of_ns: :number, last: :text},
      settings: {interval: :number, first_interval: :number, interval_changes: :number, thinnings: :number, interval_auto: :flag, max_samples: :number,
                 only_n: :number, seed: :text},
      drops: {samples: :number, stacks: :number, frames: :number, classes: :number, moves: :number},
      heap: {slot_size: :number, total_slots: :number, live_slots: :number, live_at_start: :number, pages: :number, pinned_pages: :number,
             held_slots: :number, compact_bytes: :number},
      malloc: {state: :text, interval: :number, first_interval: :number, interval_changes: :number, thinnings: :number, interval_auto: :flag,
               allocator: :text, missing: :text},
      account: {taken_ns: :number, cost_ns: :number, rss: :number, slots_live: :number, slots_free: :number, malloc_live: :number, malloc_waste: :number,
                malloc_metadata: :number, stacks: :number, code_and_files: :number, jit: :number, sampler: :number, unattributed: :number, pss: :number,
                threads: :number, fibers: :number, thread_stacks: :number, fiber_stacks: :number, limit_bytes: :number, limit_used: :number,
                limit_machine: :flag, allocator: :text, jemalloc: :jemalloc},
      jemalloc: {allocated: :number, active: :number, resident: :number, dirty: :number, retained: :number, metadata: :number},
      alive: {threads: :threads, fibers: :fibers},
      threads: (threads = {count: :number, running: :number, runnable: :number, sleeping: :number, waiting: :number, blocked: :number, ended: :number,
                           stacks: :number}).merge(made: [:threads_made]),
      fibers: (fibers = {count: :number, created: :number, resumed: :number, suspended: :number, ended: :number, stacks: :number}).merge(made: [:fibers_made]),
      threads_made: {path: :text, line: :number, **threads},
      fibers_made: {path: :text, line: :number, **fibers},
      inherited: {bytes: :number, unshared: :number},
      kept: {refused: :text, ended_in: :text, signal: :number, objects: :number, edges: :number, slots: :number, freed: [:freed], stuck: [:stuck],
             pins: [:pin], without_ns: :number, hold_up_ns: :number, stop_estimate_ns: :number, ns: :number, walk_ns: :number, name_ns: :number, room_bytes: :number,
             limit_bytes: :number, cgroup: :text, demand_bytes: :number, estimate_bytes: :number, child_bytes: :number, evicted: :number},
      freed: {chain: :texts, path: :text, line: :number, objects: :number, space: :number, var: :number},
      stuck: {name: :text, path: :text, line: :number, threads: :number, space: :number},
      pin: {name: :text, kind: :text, class: :text, path: :text, line: :number, holder: :texts, made_in: :text, made_path: :text, made_line: :number,
            samples: :number, objects: :number, free: :number, var: :number},
      merged: {processes: :number, profiles: :number, evicted_rows: :number}
    }.freeze
    LEFT_OUT = {meta: %i[kept merged], kept: %i[room_bytes limit_bytes cgroup], pin: MESSAGES[:pin].keys - %i[samples objects free var]}.freeze

    NUMBERS = {
      format: 1, generator: 2, ruby: 3, process_id: 4, process_start: 5, parent_id: 6, title: 7, directory: 8, gemfile: 9, host: 10, deploy: 11,
      session: 12, started_ns: 13, taken_ns: 14, gc: 15, settings: 16, live_samples: 17, drops: 18, own_bytes: 19, heaps: 20, malloc: 21, memsize: 22,
      account: 23, account_at_start: 24, alive: 25, inherited: 26, inherited_missing: 27, kept: 28, merged: 29, count: 30, minor: 31, major: 32,
      last_minor_ns: 33, last_major_ns: 34, last_major_gc: 35, times: 36, forced: 37, limit_ppm: 38, ns: 39, of_ns: 40, last: 41, interval: 42,
      first_interval: 43, interval_changes: 44, thinnings: 45, interval_auto: 46, max_samples: 47, only_n: 49, seed: 50, samples: 51,
      stacks: 52, frames: 53, classes: 54, moves: 55, slot_size: 56, total_slots: 57, live_slots: 58, live_at_start: 59, pages: 60, pinned_pages: 61,
      held_slots: 62, compact_bytes: 63, state: 64, allocator: 65, missing: 66, cost_ns: 67, rss: 68, slots_live: 69, slots_free: 70, malloc_live: 71,
      malloc_waste: 72, malloc_metadata: 73, code_and_files: 74, jit: 75, sampler: 76, unattributed: 77, pss: 78, threads: 79, fibers: 80,
      thread_stacks: 81, fiber_stacks: 82, jemalloc: 83, allocated: 84, active: 85, resident: 86, dirty: 87, retained: 88, metadata: 89, running: 90,
      runnable: 91, sleeping: 92, waiting: 93, blocked: 94, created: 95, resumed: 96, suspended: 97, ended: 98, made: 99, path: 100, line: 101,
      bytes: 102, unshared: 103, refused: 104, ended_in: 105, signal: 106, objects: 107, edges: 108, slots: 109, freed: 110, stuck: 111, pins: 112,
      without_ns: 113, hold_up_ns: 114, walk_ns: 115, name_ns: 116, room_bytes: 117, limit_bytes: 118, cgroup: 119, demand_bytes: 120,
      estimate_bytes: 121, child_bytes: 122, evicted: 123, chain: 124, space: 125, var: 126, name: 127, kind: 128, class: 129, holder: 130,
      made_in: 131, made_path: 132, made_line: 133, free: 134, processes: 135, profiles: 136, evicted_rows: 137, gcs: 138, gc_ns: 139,
      walks: 140, longest_stop_ns: 141, majors: 142, reason: 143, limit_used: 144, limit_machine: 145, stop_estimate_ns: 150,
      log: 151, causes: 152, cpu_ns: 153
    }.freeze
    # Messages within one Meta, and texts of lists: what the sampler writes has some hundreds.
    ENTRIES_MAX = 20_000

    # Of each message: fields by number, as name and type; and a Hash with all of them absent.
    BY_NUMBER = MESSAGES.transform_values { |fields| fields.to_h { |name, type| [NUMBERS.fetch(name), [name.to_s, type]] } }.freeze
    ABSENT = MESSAGES.to_h do |message, fields|
      kept = fields.except(*LEFT_OUT[message])
      [message, kept.to_h { |name, type| [name.to_s, (type.is_a?(Array) || type == :texts ? [] : nil)] }]
    end.freeze
    [MESSAGES, LEFT_OUT, BY_NUMBER, ABSENT].each { |table| Ractor.make_shareable(table) }
    private_constant :LEFT_OUT, :BY_NUMBER, :ABSENT

    module_function

    # call-seq:
    #   MetaMessage.encode(hash) -> binary String
    def encode(values, message = :meta)
      MESSAGES.fetch(message).each_with_object("".b) do |(name, type), out|
        field(out, NUMBERS.fetch(name), type, values[name.to_s])
      end
    end

    # call-seq:
    #   MetaMessage.decode(bytes, from, to) -> Hash
    #
    # Raises Protobuf::Malformed.
    def decode(data, from = 0, to = data.bytesize) = Decoder.new(data).message(:meta, from, to)

    # What is nil, or of another type, is left out.
    def field(out, number, type, value)
      case type
      when :number then varint(out, number, value) if value.is_a?(Integer) && value.between?(0, (1 << 64) - 1)
      when :flag then varint(out, number, value ? 1 : 0) unless value.nil?
      when :text then bytes(out, number, value.b) if value.is_a?(String)
      when :texts then value.grep(String).each { |text| bytes(out, number, text.b) } if value.is_a?(Array)
      when :numbers, :triples then bytes(out, number, value.flatten.map { |one| Protobuf.encode(one) }.join) if value.is_a?(Array)
      when Array then value.grep(Hash).each { |one| bytes(out, number, encode(one, type.first)) } if value.is_a?(Array)
      else bytes(out, number, encode(value, type)) if value.is_a?(Hash)
      end
    end

    def varint(out, number, value) = out << Protobuf.encode(number << 3) << Protobuf.encode(value)
    def bytes(out, number, value) = out << Protobuf.encode(number << 3 | Protobuf::BYTES) << Protobuf.encode(value.bytesize) << value
    private_class_method :field, :varint, :bytes

    # Reads one.
    class Decoder # :nodoc:
      def initialize(data)
        @data = data
        @entries = 0
      end

      def message(name, from, to)
        count
        fields = BY_NUMBER.fetch(name)
        values = ABSENT.fetch(name).transform_values { |absent| absent&.dup }
        Protobuf.new(@data, from, to).each_field do |number, value, stop|
          key, type = fields[number]
          read(values, key, type, value, stop) if key
        end
        values
      end

      private

      def read(values, key, type, value, stop)
        raise Protobuf::Malformed, "a field of its settings has the wrong type" if stop.nil? != %i[number flag].include?(type)

        case type
        when :number then values[key] = in_range(value)
        when :flag then values[key] = value != 0
        when :text then values[key] = text(value, stop)
        when :texts then (values[key] ||= []) << text(value, stop).tap { count }
        when :numbers then values[key] = Protobuf.packed(@data, value, stop).each { |one| in_range(one) }
        when :triples then values[key] = Protobuf.packed(@data, value, stop).each_slice(3).map { |triple| triple.each { |one| in_range(one) } }
        when Array then (values[key] ||= []) << message(type.first, value, stop)
        else values[key] = message(type, value, stop)
        end
      end

      def text(from, to) = Printable.utf8(@data.byteslice(from, to - from).force_encoding(Encoding::UTF_8))
      def in_range(value) = value < 1 << 64 ? value : raise(Protobuf::Malformed, "a number in its settings is out of range")

      def count
        raise Protobuf::Malformed, "its settings have more than #{ENTRIES_MAX} entries" if (@entries += 1) > ENTRIES_MAX
      end
    end
    private_constant :Decoder
  end
end
