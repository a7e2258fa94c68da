# frozen_string_literal: true

module HeapSample
  # The work that the sampler forced on a process since it began: the major GCs and heap walks of periodic profiles
  # (<tt>diagnose=</tt>) and of clients of the socket, which name a share of the run time.
  #
  # [limit]        the share that periodic profiles may take, 0.01 for <tt>diagnose=1%</tt>; 0.0: none
  # [gcs]          how many major GCs there were
  # [gc_seconds]   CPU time that they took
  # [walks]        how many heap walks there were
  # [walk_seconds] CPU time that they took: of the child process that walks, and for the fork
  # [longest_stop] the longest time, in seconds, that Ruby code stopped for one of them
  # [of]           run time of the process, in seconds: #share is of these
  # [last]         why there was a major GC before the last periodic profile, or none: a key of WHY
  ForcedWork = Struct.new(:limit, :gcs, :gc_seconds, :walks, :walk_seconds, :longest_stop, :of, :last) do
    # Of the file's field.  nil if it has none, or nonsense.
    def self.of(values)
      return unless values.is_a?(Hash)

      ppm, gcs, gc_ns, walks, walk_ns, stop_ns, of_ns = numbers = values.values_at("limit_ppm", "gcs", "gc_ns", "walks", "walk_ns", "longest_stop_ns", "of_ns")
      return unless numbers.all? { |number| number.is_a?(Integer) && number >= 0 } && self::WHY.key?(values["last"].to_s.to_sym)

      new(ppm / 1e6, gcs, gc_ns / 1e9, walks, walk_ns / 1e9, stop_ns / 1e9, of_ns / 1e9, values["last"].to_sym)
    end

    # Were there any?
    def any? = gcs + walks > 0

    # The share of the run time that they took.
    def share = of.zero? ? 0.0 : (gc_seconds + walk_seconds) / of

    # In words: why there was a major GC before the last periodic profile, or none.
    def why = self.class::WHY.fetch(last)
  end

  class ForcedWork
    # What #last may be, in words.
    WHY = {
      none: "no periodic profile was due yet",
      ended: "a major GC ran before the last periodic profile",
      unfinished: "the major GC before the last periodic profile was not finished in time",
      not_needed: "a major GC had already run before the last periodic profile",
      over_budget: "the share of diagnose= did not allow another major GC before the last periodic profile",
      no_safe_point: "Ruby code did not reach a safe point before the last periodic profile, because it waited or ran in C code",
      refused: "the program has disabled GC, or major GCs"
    }.freeze
  end
end
