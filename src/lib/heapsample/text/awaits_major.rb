# frozen_string_literal: true

module HeapSample
  # Shows how much live memory no major GC has examined yet.  A minor GC frees no old objects, and not their malloc
  # memory.  So memory allocated since the last major GC counts as live, but may be garbage.
  module AwaitsMajor
    # A smaller part of all is not worth a sentence; from the larger part on, a row "holds" memory and does not "retain" it.
    SHOWN = 0.01
    MOST = 0.5

    class << self
      # Lines about the live memory of a profile: none where major GCs have examined it.
      def lines(profile, layout, kind = :both)
        total = profile.groups(:class, kind: kind).total
        text = sentence(profile.info, layout, total.awaiting, total.inuse.space)
        text ? layout.sentence(text) : []
      end

      # " No major GC has examined 93% of it, so it may be garbage." of a row; "" where that is less than most.
      def of_row(awaiting, space)
        return "" unless most?(awaiting, space)

        " No major GC has examined #{part(awaiting, space)} of it, so it may be garbage."
      end

      def most?(awaiting, space) = space > 0 && awaiting > MOST * space

      # Of so many bytes that await a major GC, of all; nil if there is nothing to report.
      def sentence(info, layout, awaiting, space, what = "the live memory")
        return unless space > 0 && !info.merged? && !info.dump?
        return "No major GC has run in this process yet, so part of #{what} may be garbage." if info.gc_major == 0
        return unknown(info, layout, what) unless info.last_major_gc
        return unless awaiting > SHOWN * space

        "The last major GC was #{ago(info, layout)}. #{layout.bytes(awaiting)} (#{part(awaiting, space)}) of #{what} was allocated since, " \
          "and may be garbage."
      end

      private

      # For files without the GC count of the last major GC.
      def unknown(info, layout, what)
        return unless info.last_major && info.last_minor && info.last_minor > info.last_major

        "The last major GC was #{ago(info, layout)}. The part of #{what} that was allocated since may be garbage."
      end

      def ago(info, layout)
        return "at an unknown time" unless info.last_major
        return "at #{info.last_major.utc.strftime("%H:%M:%S UTC")}" unless info.taken && info.taken >= info.last_major

        "#{layout.duration(info.taken - info.last_major)} before the profile"
      end

      def part(awaiting, space) = "#{[awaiting * 100 / space, 100].min.round}%"
    end
  end
end
