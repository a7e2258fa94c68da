# frozen_string_literal: true

module HeapSample
  module Tool
    # The threads and fibers of all merged processes: sums, and sums by the place where they were made.
    class MergedAlive
      KINDS = %w[threads fibers].freeze
      PLACES = 64
      OTHER = ["(other)", nil].freeze

      def initialize
        @kinds = KINDS.to_h { |kind| [kind, nil] }
        @made = KINDS.to_h { |kind| [kind, {}] }
      end

      # +values+: of one profile. What is not known of one is not known of all.
      def add(values)
        return if @unknown ||= !values.is_a?(Hash) || KINDS.any? { |kind| !values[kind].is_a?(Hash) }

        KINDS.each do |kind|
          @kinds[kind] = sum(@kinds[kind], values[kind])
          places(values[kind]["made"]).each { |place, one| @made[kind][place] = sum(@made[kind][place], one) }
        end
      end

      def to_h
        return if @unknown || @kinds.values.any?(&:nil?)

        KINDS.to_h { |kind| [kind, {**@kinds[kind], "made" => made(@made[kind])}] }
      end

      private

      def places(made)
        (made.is_a?(Array) ? made.grep(Hash) : []).map { |one| [one.values_at("path", "line"), one] }
      end

      # Counts; null where one of the two does not know.
      def sum(one, other)
        counts = other.except("made", "path", "line")
        return counts unless one

        counts.to_h { |name, value| [name, value.is_a?(Integer) && one[name].is_a?(Integer) ? one[name] + value : nil] }
      end

      def made(populations)
        first, rest = populations.except(OTHER).sort_by.with_index { |(_, one), index| [-one["count"].to_i, index] }
                                 .partition.with_index { |_, index| index < PLACES }
        rest = [*rest.map(&:last), populations[OTHER]].compact
        first << [OTHER, rest.inject { |one, other| sum(one, other) }] unless rest.empty?
        first.map { |(path, line), one| {"path" => path, "line" => line, **one} }
      end
    end
  end
end
