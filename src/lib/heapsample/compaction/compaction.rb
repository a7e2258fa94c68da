# frozen_string_literal: true

require "etc"

module HeapSample
  # What GC.compact gave back, and what it could not move.
  #
  #   puts GC::SampleProfile.compact                      # this process
  #   puts HeapSample::Compaction.of(LiveProcess.new(4711))
  #
  # GC.compact moves objects together in a major GC.  It helps where many pages of the heap are nearly empty.  Two things limit what it gives
  # back: objects that must not be moved (pinned), and pages that Ruby holds for new objects.
  class Compaction
    include Analysis

    TEXT = CompactionText

    # Less than this part of RSS, or fewer bytes, is not worth a stop of the program.
    SHARE_LEAST = 0.02
    LEAST = 1 << 20

    # The memory of the process at one time: its RSS; pages of the heap that have live objects, and of these pages with a pinned object;
    # bytes of live and of all slots.  nil: not known.
    State = Struct.new(:rss, :pages, :pinned_pages, :live_bytes, :all_bytes) do
      # Bytes of free slots.
      def free_bytes = all_bytes && live_bytes && (all_bytes - live_bytes)
      # JSON-ready.
      def to_h = {rss: rss, pages: pages, pinned_pages: pinned_pages, live_bytes: live_bytes, free_bytes: free_bytes}.compact
    end

    # The States before and after; after the block, nil without one.
    attr_reader :before, :after, :later
    # How many objects were looked at to be moved, and were moved.
    attr_reader :considered, :moved
    # Seconds that Ruby code stood still; and what was expected, nil if it was not known.
    attr_reader :seconds, :expected
    # What pins objects: Array of Pins::Pin, by a heap walk; and Array of PinnedObjects::Group, by the objects; empty if it is not known.
    attr_reader :pins, :pinned

    # call-seq:
    #   Compaction.expected(process) -> [Float, State, Integer or nil]
    #
    # For how long compaction would stop the Ruby code of a LiveProcess, in seconds, and its memory now; and bytes of pages that it could
    # empty at most.
    def self.expected(process)
      answer = process.compact
      [answer[:compaction][:stop_estimate_ns] / 1e9, state(answer), Meta.new({"heaps" => answer[:heaps].map { |heap| heap.transform_keys(&:to_s) }}).compact_bytes]
    end

    # call-seq:
    #   Compaction.of(process, pins: [], most: nil) -> compaction
    #
    # Compacts the heap of a LiveProcess. +most+: seconds that Ruby code may stand still, by the estimate (0 to 60; nil: 60).
    # LiveProcess::Refused: the estimate is longer, or the process cannot compact.
    def self.of(process, pins: [], most: nil)
      _, before, = expected(process)
      answer = process.compact(stop: ((most || 60) * 1000).ceil.clamp(1, 60_000))
      done = answer[:compaction]
      new(before: before, after: state(answer), considered: done[:considered], moved: done[:moved], seconds: done[:ns] / 1e9, expected: done[:stop_estimate_ns] / 1e9, pins: pins)
    end

    # call-seq:
    #   Compaction.here -> compaction
    #   Compaction.here { … } -> compaction
    #
    # Compacts the heap of this process, on any Ruby that can.  The block is run afterwards, to see how much memory is needed again by the work
    # in it.  Raises NotImplementedError where Ruby cannot compact.
    def self.here
      raise NotImplementedError, "GC.compact is not supported on this platform" unless GC.respond_to?(:compact)

      PinnedObjects.prepare
      GC.start
      before = here_now
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      info = GC.compact
      seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
      after = here_now
      pinned = PinnedObjects.new
      later = (yield; here_now) if block_given?
      considered, moved = %i[considered moved].map { |name| info[name].values.sum }
      new(before: before, after: after, later: later, considered: considered, moved: moved, seconds: seconds, pinned: pinned.groups)
    end

    def self.state(answer)
      heaps = answer[:heaps]
      sum = ->(name) { heaps.sum { |heap| heap[name] } if heaps.all? { |heap| heap[name] } }
      State.new(answer[:account].rss, sum[:pages], sum[:pinned_pages], heaps.sum { |heap| heap[:slot_size] * heap[:live_slots] }, heaps.sum { |heap| heap[:slot_size] * heap[:total_slots] })
    end

    def self.here_now
      all = slots.sum { |size, count| size * count }
      live = GC.stat(:heap_live_slots) * all / [GC.stat(:heap_available_slots), 1].max
      State.new(here_rss, GC.stat(:heap_allocated_pages), nil, live, all)
    end

    # Slots by their size: Ruby 3.1 has one size, and no GC.stat_heap.
    def self.slots
      return {40 => GC.stat(:heap_available_slots)} unless GC.respond_to?(:stat_heap)

      GC.stat_heap.each_value.to_h { |heap| [heap[:slot_size], heap[:heap_eden_slots] + heap.fetch(:heap_tomb_slots, 0)] }
    end

    def self.here_rss
      File.read("/proc/self/statm").split[1].to_i * Etc.sysconf(Etc::SC_PAGESIZE)
    rescue SystemCallError
      nil
    end
    private_class_method :state, :here_now, :slots, :here_rss

    def initialize(before:, after:, considered:, moved:, seconds:, later: nil, expected: nil, pins: [], pinned: []) # :nodoc:
      @before, @after, @later = before, after, later
      @considered, @moved, @seconds, @expected, @pins, @pinned = considered, moved, seconds, expected, pins, pinned
    end

    # Bytes by which RSS fell; below 0 where it rose.  nil if it is not known.
    def given_back = (before.rss - after.rss if before.rss && after.rss)

    # Was it worth the stop?  nil if it is not known.
    def worth_it? = given_back && Compaction.worth?(given_back, before.rss)

    # Are so many bytes worth a stop, in a process with that RSS?
    def self.worth?(bytes, rss) = bytes >= [LEAST, SHARE_LEAST * rss.to_i].max

    # How many pages of the heap have no live object any more. nil if it is not known.
    def emptied_pages = (before.pages - after.pages if before.pages && after.pages)

    # JSON-ready.
    def to_h
      {before: before.to_h, after: after.to_h, later: later&.to_h, given_back_bytes: given_back, worth_it: worth_it?, considered: considered, moved: moved, seconds: seconds,
       expected_seconds: expected, pins: pins.map(&:to_h), pinned: pinned.map(&:to_h)}.compact
    end
  end
end
