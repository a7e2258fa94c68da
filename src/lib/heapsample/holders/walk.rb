# frozen_string_literal: true

module HeapSample
  # The heap walk of a profile: what it cost, or why there was none.
  class Walk
    # call-seq:
    #   HeapSample::Walk.of(values) -> HeapSample::Walk or nil
    #
    # From the +values+ of a profile; nil if they are not valid.
    def self.of(values)
      new(values) if values.is_a?(Hash)
    end

    def initialize(values)
      @values = values
    end

    # Why there was none, a String; nil if it was made.
    def refused
      why = text("refused") or return

      type = text("ended_in")
      [why, *(", in the mark function of #{type}" if type), *long_stop, *short].join
    end

    # How many objects it saw.
    def objects = number("objects")
    # How many references it followed.
    def edges = number("edges")
    # How long it took, in seconds; the program ran on meanwhile.
    def seconds = number("ns")&.then { |ns| ns / 1e9 }
    # How long it held the program up, in seconds.
    def hold_up = number("hold_up_ns")&.then { |ns| ns / 1e9 }
    # Memory that it needed for itself.
    def child_bytes = number("child_bytes")

    # What would be freed if one holder were emptied, of the holders that keep most: Array of Freed, the largest first.
    def freed
      list("freed").filter_map do |one|
        chain, *figures = one.values_at("chain", "objects", "space", "var")
        next unless chain.is_a?(Array) && chain.all?(String) && chain.any? && figures.all? { |figure| figure.is_a?(Numeric) && figure >= 0 }

        path, line = one.values_at("path", "line")
        place = Place.new(path, line, nil) if path.is_a?(String) && !path.empty? && line.is_a?(Integer)
        Freed.new(chain, Holders.estimate(*figures), place)
      end
    end

    # +names+: of references, the root first; +estimate+: what would be freed if what the last leads to were emptied; +place+: the
    # line of the code that has the last (0: that code as a whole), nil if it is in no code.
    Freed = Struct.new(:names, :estimate, :place) do
      # JSON-ready.
      def to_h = {chain: names, path: place&.path, line: (place.line if place && place.line > 0), **estimate.to_h}.compact
    end

    # Threads that can never wake, by the line where they wait: Array of StuckThreads::Place, those that keep most first.
    def stuck = StuckThreads.of(list("stuck"))

    # What pins the objects that hold free memory of heap pages: Array of Pins::Pin, those that hold most first.
    def pins = Pins.of(list("pins"))

    # JSON-ready.
    def to_h
      {refused: refused, objects: objects, edges: edges, seconds: seconds, hold_up_seconds: hold_up, child_bytes: child_bytes}.compact
    end

    private

    # Refused for that reason.
    def long_stop = number("stop_estimate_ns")&.then { |ns| " (estimated stop: #{(ns / 1e6).round} ms)" if ns > 50_000_000 }

    # Where memory was short.
    def short
      left, limit, demand = %w[room_bytes limit_bytes demand_bytes].map { |name| number(name)&.then { |bytes| Layout.new.bytes(bytes) } }
      return unless left && limit && demand

      where = (group = text("cgroup")) ? "cgroup #{group}" : "the machine"
      " (#{left} of #{limit} are left in #{where}; a walk needs #{demand})"
    end

    def list(name)
      value = @values[name]
      value.is_a?(Array) ? value.grep(Hash) : []
    end

    def text(name)
      value = @values[name]
      value if value.is_a?(String) && !value.empty?
    end

    def number(name)
      value = @values[name]
      value if value.is_a?(Numeric) && value >= 0
    end
  end
end
