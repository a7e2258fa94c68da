# frozen_string_literal: true

module HeapSample
  # The threads and fibers of a process: Populations.  doc/format.md has the names of the file.
  class Alive
    KINDS = {threads: "thread", fibers: "fiber"}.freeze

    # How many of a kind there are now and were before, of those made at one place; +place+ is nil of all.
    Change = Struct.new(:kind, :place, :before, :now) do
      def difference = now - before
    end

    # call-seq:
    #   HeapSample::Alive.of(values) -> HeapSample::Alive or nil
    #
    # From the +values+ of a profile; nil if they are not valid.
    def self.of(values)
      new(values) if values.is_a?(Hash)
    end

    def initialize(values)
      @values = values
    end

    # The threads.
    def threads = self[:threads]
    # The fibers.
    def fibers = self[:fibers]

    # call-seq:
    #   alive[kind] -> HeapSample::Population
    #
    # Of :threads or :fibers.
    def [](kind)
      (@kinds ||= {})[kind] ||= Population.new(@values[kind.to_s].is_a?(Hash) ? @values[kind.to_s] : {})
    end

    # call-seq:
    #   since(earlier) -> Array of Change
    #
    # The lines whose threads and fibers are more or fewer than in +earlier+, the largest change first.
    def since(earlier)
      changes = KINDS.keys.flat_map do |kind|
        now, before = [self, earlier].map { |alive| alive[kind].made.to_h { |one| [one.place, one.count] } }
        (now.keys | before.keys).map { |place| Change.new(kind, place, before.fetch(place, 0), now.fetch(place, 0)) }
      end
      changes.reject { |change| change.difference.zero? }.sort_by.with_index { |change, index| [-change.difference.abs, index] }
    end

    # JSON-ready.
    def to_h
      KINDS.keys.to_h { |kind| [kind, self[kind].to_h] }
    end
  end
end
