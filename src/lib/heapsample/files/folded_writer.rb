# frozen_string_literal: true

module HeapSample
  # Folded stacks, which flamegraph.pl and speedscope read: a line a stack, root
  # first, and a value (doc/format.md).
  class FoldedWriter
    def initialize(profile, value = "inuse_space")
      @profile = profile
      @value = value
      @names = []
    end

    def write(io)
      stacks = @profile.stacks
      StackSums.of(@profile, @value).each do |handle, sum|
        names = stacks.frame_ids(handle).map { |id| @names[id] ||= name(stacks.frame(id)) }
        io.write(names.empty? ? Stacks::NO_STACK : names.reverse.join(";"), " ", sum.to_s, "\n")
      end
    end

    private

    def name(frame)
      return clean(frame.to_s) if frame.native?

      place = " (#{clean(frame.path)}#{":#{frame.lineno}" if frame.lineno > 0})" unless frame.path.empty?
      "#{clean(frame.label)}#{place}"
    end

    def clean(text)
      Printable.text(text).tr(";", ",")
    end
  end
end
