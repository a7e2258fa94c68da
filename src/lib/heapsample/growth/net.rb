# frozen_string_literal: true

module HeapSample
  # Two estimates, of gained and of lost memory, and their difference.
  module Net
    # Bytes, as an estimate; below 0 where more was lost than gained.
    def space
      gained.space - lost.space
    end

    # Objects gained, less objects lost.
    def objects
      gained.objects - lost.objects
    end

    # The same bytes as far as they are resident.
    def resident_space
      gained.resident.space - lost.resident.space
    end

    # Is enough of the gained or lost memory untouched to be reported?
    def untouched?
      gained.untouched? || lost.untouched?
    end

    # Samples behind it.
    def samples
      gained.samples + lost.samples
    end

    # The 95% interval of #space.
    def space_interval
      Statistics.difference(gained.space, gained.space_interval(unit: unit(lost)),
                            lost.space, lost.space_interval(unit: unit(gained)))
    end

    # Can sampling alone not explain the difference? Of many rows some seem so by chance: see Growth#changes.
    def significant?
      low, high = space_interval
      low > 0 || high < 0
    end

    # How often sampling alone would show such a difference, from 0 to 1.
    def p_value
      Statistics.p_value(space, *space_interval)
    end

    # Figures as JSON has them.
    def to_h
      {bytes: space, bytes_interval: space_interval, **(untouched? ? {resident_bytes: resident_space} : {}), objects: objects, samples: samples, weak: weak?,
       gained: gained.to_h, lost: lost.to_h}
    end

    # "+26.1 MiB (+20.4 – +31.8 MiB) in 1,234 objects".
    def to_s
      return "nothing changed" if zero?

      layout = Layout.new
      bytes, limits = if samples.zero? || exact? then [layout.bytes(space, sign: true), exact? ? "exact" : "interval not known"]
                      else layout.figure(space, space_interval, sign: true)
                      end
      "#{bytes} (#{limits}) in #{layout.count(objects)} objects"
    end

    # For pattern matching, the names of #to_h.
    def deconstruct_keys(_) = to_h

    # Are there fewer than 10 samples behind it?
    def weak?
      samples < Estimate::WEAK_BELOW && (gained.weak? || lost.weak?)
    end

    # Is there no error of sampling?
    def exact?
      samples > 0 && gained.certain? && lost.certain?
    end

    # Did nothing come and nothing go?
    def zero?
      gained.zero? && lost.zero?
    end

    private

    # What one sample of the other side stands for.
    def unit(other)
      other.samples > 0 && other.variance > 0 ? other.space / other.samples.to_f : 0.0
    end
  end
end
