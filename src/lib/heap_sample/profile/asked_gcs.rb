# frozen_string_literal: true

module HeapSample
  # The major GCs that the setting <tt>gc=</tt> asked for: one before a periodic profile, where none had ended since
  # the profile before.
  #
  # [limit]    the share of the time that they may take, 0.01 for <tt>gc=1%</tt>
  # [started]  how many there were
  # [seconds]  the CPU time that they took
  # [of]       seconds since periodic profiles began: #share is of these
  # [last]     why there was one before the last periodic profile, or none: a key of WHY
  AskedGCs = Struct.new(:limit, :started, :seconds, :of, :last) do
    # Of the file's field.  nil if it has none, or nonsense.
    def self.of(values)
      return unless values.is_a?(Hash)

      numbers = values.values_at("limit_ppm", "count", "ns", "of_ns")
      return unless numbers.all? { |number| number.is_a?(Integer) && number >= 0 } && self::WHY.key?(values["last"].to_s.to_sym)

      new(numbers[0] / 1e6, numbers[1], numbers[2] / 1e9, numbers[3] / 1e9, values["last"].to_sym)
    end

    # The share of the time that they took.
    def share = of.zero? ? 0.0 : seconds / of

    # In words: why there was one before the last periodic profile, or none.
    def why = self.class::WHY.fetch(last)
  end

  class AskedGCs
    # What #last may be, in words.
    WHY = {
      none: "no periodic profile was due yet",
      ended: "it ended before the last periodic profile",
      unfinished: "the one before the last periodic profile still marked when that was written",
      not_needed: "before the last periodic profile one had ended by itself",
      over_budget: "before the last periodic profile another would have taken more than gc= allows",
      no_safe_point: "before the last periodic profile Ruby code reached no safe point: it waited, or was in a long call",
      refused: "before the last periodic profile GC was disabled, or major GCs were"
    }.freeze
  end
end
