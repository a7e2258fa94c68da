# frozen_string_literal: true

require "json"

module HeapSample
  # Checks and reads what a process reports in JSON: names are Symbols, accounts are an Account, threads and fibers an
  # Alive.  Any program may answer in place of a Ruby.  So the answer is refused unless each field has the type and the
  # range that doc/protocol.md gives it.  Unknown fields are left out.
  module LiveAnswer
    # The answer is refused.  The message has the reason.
    class Damaged < StandardError
    end

    FIELDS = Ractor.make_shareable({Integer => %w[process_id parent_id protocol taken_ns started_ns interval every],
                                    String => %w[process_start title directory host deploy ruby],
                                    Hash => %w[account account_at_start alive compaction gc malloc sampler], Array => %w[heaps], nil => %w[sampling interval_auto]})
    # In compaction, gc, heaps and sampler.
    NUMBERS = Ractor.make_shareable(%w[count minor major ns last_major_ns slot_size total_slots live_slots live_samples samples
                                       malloc_live_samples malloc_samples dropped_samples bytes bytes_max thread_ns pages pinned_pages held_slots compact_bytes stop_estimate_ns considered moved])
    # Seconds until the whole answer must be there, and its bytes at most.
    LIMITS = Ractor.make_shareable({"hello" => [5, 64 << 10], "memory" => [5, 1 << 20], "profile" => [60, 64 << 20], "compact" => [70, 1 << 20]})
    # start, set and stop wait 5 s for a safe point.
    OTHERS = [15, 64 << 10].freeze
    # gc=1 and why=1 wait 30 s for their share of the run time, and a walk takes 30 s.
    LONGER = 60
    NUMBER_MOST = 2**63
    TEXT_MOST = 4096
    DEPTH = 8
    # An answer needs these.
    MEMORY = %w[account alive].freeze
    ABOUT = %w[process_id taken_ns sampling].freeze

    module_function

    # Of the answer to a verb.
    def limits(verb, arguments = {})
      seconds, most = LIMITS.fetch(verb, OTHERS)
      [seconds + (arguments.keys.intersect?(%i[gc why diagnose]) ? LONGER : 0), most]
    end

    # +text+ is the answer; +needed+ are the fields that must be there.  Raises Damaged.
    def described(text, needed)
      answer = JSON.parse(text.dup.force_encoding(Encoding::UTF_8).scrub("?"), max_nesting: DEPTH)
      raise Damaged, "it is not an object" unless answer.is_a?(Hash)

      needed += %w[interval started_ns] if answer["sampling"] == true
      wrong = needed.find { |name| answer[name].nil? } || FIELDS.flat_map { |type, names| names.reject { |name| sound?(answer[name], type) } }.first
      raise Damaged, "#{wrong} is missing or invalid" if wrong

      answer.slice(*FIELDS.values.flatten).to_h { |name, value| [name.to_sym, read(name, value)] }
    rescue JSON::ParserError
      raise Damaged, "it is not JSON"
    end

    # +type+: a class, or nil for true and false.
    def sound?(value, type)
      return [nil, true, false].include?(value) if value.nil? || type.nil?

      value.is_a?(type) && bounded?(value) && (type != Integer || value >= 0)
    end

    def bounded?(value)
      return value.flatten.all? { |one| bounded?(one) } if value.respond_to?(:flatten)

      value.is_a?(Numeric) ? value.abs <= NUMBER_MOST : value.to_s.bytesize <= TEXT_MOST
    end

    def read(name, value)
      case name
      when "account", "account_at_start" then Account.of(value)
      when "alive" then Alive.of(value)
      when "compaction", "gc", "sampler" then value && numbers(value)
      when "heaps" then value&.grep(Hash)&.map { |heap| numbers(heap) }
      else value
      end
    end

    # The numbers that have a known name.
    def numbers(values)
      values.slice(*NUMBERS).select { |_, one| one.nil? || (one.is_a?(Integer) && one >= 0) }.transform_keys(&:to_sym)
    end
  end
end
