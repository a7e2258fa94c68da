# frozen_string_literal: true

module HeapSample
  # What GC costs a process, and what most of it is for: a setting, and the line that allocates most of what makes these GCs
  # necessary.
  class GCCost
    # Settings by reason: what makes GCs of this reason rarer. The others are calls in the program.
    SETTINGS = {
      "newobj" => "RUBY_GC_HEAP_FREE_SLOTS_GOAL_RATIO", "malloc" => "RUBY_GC_MALLOC_LIMIT_MAX", "nofree" => "RUBY_GC_HEAP_FREE_SLOTS_MIN_RATIO",
      "oldgen" => "RUBY_GC_HEAP_OLDOBJECT_LIMIT_FACTOR", "shady" => "RUBY_GC_HEAP_REMEMBERED_WB_UNPROTECTED_OBJECTS_LIMIT_RATIO",
      "oldmalloc" => "RUBY_GC_OLDMALLOC_LIMIT_MAX", "sampler" => "diagnose="
    }.freeze
    # What makes GCs of these reasons necessary is malloc memory, else objects.
    MALLOC = %w[malloc oldmalloc].freeze
    # What no line that allocates has caused.
    CALLED = %w[method capi stress force sampler].freeze

    attr_reader :record

    # +profile+: for the line; nil: there is none.
    def initialize(record, profile = record.profile)
      @record = record
      @profile = profile
    end

    # The Cause that took most CPU time; nil if there is none.
    def cause = record.causes.first
    # Its part of the CPU time of all GCs.
    def cause_share = (cause.seconds.to_f / record.seconds if cause && record.seconds.positive?)
    # The setting that makes these GCs rarer; nil if there is none.
    def setting = SETTINGS[cause&.reason]

    # The line that allocates most of what makes these GCs necessary: a Top::Entry; nil if it is not known.
    def line
      return if @profile.nil? || cause.nil? || CALLED.include?(cause.reason)

      @line ||= lines.first
    end

    # Is it a line of malloc memory, and not of objects?
    def malloc? = MALLOC.include?(cause&.reason)

    # Sentences, with the paths of a Layout.
    def sentences(layout) = [whole(layout), *most(layout), *where(layout)].compact

    # JSON-ready.
    def to_h
      {gcs: record.gcs, majors: record.majors, seconds: record.seconds, cpu: record.cpu, share: record.share, longest_pause: record.longest_pause,
       cause: cause&.reason, cause_share: cause_share, setting: setting, line: line&.then { |entry| {**Analysis.key(entry.key), share: entry.share, interval: entry.interval} },
       causes: record.causes.map(&:to_h)}
    end

    private

    def lines = Top.new(@profile, by: :line, value: malloc? ? :alloc_space : :alloc_objects, kind: malloc? ? :malloc : :slots, top: 1)

    def whole(layout)
      gcs = record.causes.sum(&:gcs)
      took = "#{layout.time(record.seconds)}#{" of #{layout.duration(record.cpu)}" if record.cpu}"
      pause = record.longest_pause && "; the longest pause was #{layout.time(record.longest_pause)}"
      "GC used #{record.share ? "#{layout.percent(record.share)} of the CPU time (#{took})" : took}: #{layout.count(gcs)} GC#{"s" unless gcs == 1}#{pause}."
    end

    def most(layout)
      return unless cause_share

      knob = setting ? "; #{setting} makes them rarer" : ""
      "#{layout.percent(cause_share)} of it was for #{layout.count(cause.gcs)} GC#{"s" unless cause.gcs == 1} by #{cause.reason} (#{GCRecord::REASONS.fetch(cause.reason)}#{knob})."
    end

    def where(layout)
      return unless line

      low, high = line.interval
      total = line.value / line.share
      range = low ? " (#{layout.percents(low / total, [high / total, 1.0].min)})" : ""
      "#{malloc? ? "Most malloc memory" : "Most objects"} that led to them: #{layout.subject(line.key)}, #{layout.percent(line.share)}#{range} of #{malloc? ? "the bytes" : "the objects"} allocated."
    end
  end
end
