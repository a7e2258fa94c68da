# frozen_string_literal: true

module HeapSample
  # Threads, or fibers, in numbers: how many live, what they do, how much of their stacks is resident, and the same
  # of those that were made at one place.
  class Population
    STATES = %w[running runnable sleeping waiting blocked created resumed suspended].freeze

    # Where they were made: a HeapSample::Place, the line of their block; nil of all.
    attr_reader :place

    def initialize(values, place = nil)
      @values = values
      @place = place
    end

    # How many live.
    def count = number("count") || 0
    # How many have ended while their objects are still there: not in #count.
    def ended = number("ended") || 0
    # Resident bytes of their stacks; nil if not known.
    def stacks = number("stacks")
    # {"sleeping" => 3}, without zeros.
    def states = STATES.to_h { |name| [name, number(name) || 0] }.reject { |_, count| count.zero? }

    # The Populations of the places where they were made, the most populous first; what is left is at "(other)".
    def made
      @made ||= (@values["made"].is_a?(Array) ? @values["made"] : []).filter_map do |values|
        next unless values.is_a?(Hash) && values["path"].is_a?(String)

        line = values["line"] if values["line"].is_a?(Integer) && values["line"].positive?
        Population.new(values, Place.new(values["path"], line, nil))
      end
    end

    # JSON-ready.
    def to_h
      {count: count, **states.transform_keys(&:to_sym), ended: ended, stacks_bytes: stacks,
       made: (made.map { |one| {path: one.place.path, line: one.place.line, **one.to_h.except(:made)} } unless place)}.compact
    end

    private

    def number(name)
      value = @values[name]
      value if value.is_a?(Integer) && value >= 0
    end
  end
end
