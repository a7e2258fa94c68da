# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # Ends the sampling of a running process.
      class Stop < Start
        SUMMARY = "sample a running process no longer"
        USAGE = "PID"
        HELP = <<~TEXT
          A running Ruby samples no longer, and forgets its samples; its program goes on. Take a profile
          before, where you want one (heapsample convert PID -o heap.pb.gz).

              heapsample stop 4711

        TEXT

        private

        def expect(arguments, _range, what) = super(arguments, 1..1, what)
        def ask(process, _settings) = process.stop
      end
    end
  end
end
