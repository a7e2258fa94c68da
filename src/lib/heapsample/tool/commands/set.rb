# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # Changes what a running process samples.
      class Set < Start
        SUMMARY = "change the sampling settings of a running process"
        USAGE = "PID SETTINGS"
        EXAMPLES = <<~TEXT
          heapsample set 4711 interval=64k,every=60,output=/var/tmp/heap/
        TEXT
        HELP = <<~TEXT
          SETTINGS are the settings of RUBY_HEAP_SAMPLE, separated by commas.
          `ruby --help` and doc/settings.md list them, with units and defaults.
          Other settings and existing samples do not change.
        TEXT

        private

        def expect(arguments, _range, what) = super(arguments, 2..2, arguments.empty? ? what : "settings")
        def ask(process, settings) = process.set(**settings)
      end
    end
  end
end
