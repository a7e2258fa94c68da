# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # Ends the sampling of a running process.
      class Stop < Start
        SUMMARY = "stop sampling in a running process, and discard its samples"
        USAGE = "PID"
        EXAMPLES = <<~TEXT
          heapsample convert 4711 -o heap.pb.gz    save a profile first, if you need one
          heapsample stop 4711
        TEXT
        HELP = <<~TEXT
          The program runs on.
        TEXT

        private

        def expect(arguments, _range, what) = super(arguments, 1..1, what)
        def ask(process, _settings) = process.stop
      end
    end
  end
end
