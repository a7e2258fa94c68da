# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # Changes what a running process samples.
      class Set < Start
        SUMMARY = "change the settings of a running process that is sampled"
        USAGE = "PID SETTINGS"
        HELP = <<~TEXT
          The SETTINGS are those of RUBY_HEAP_SAMPLE, separated by commas (doc/settings.md). What is
          not given stays. Samples that are held stay, too.

              heapsample set 4711 interval=64k,every=60,output=/var/tmp/heaps/

        TEXT

        private

        def expect(arguments, _range, what) = super(arguments, 2..2, arguments.empty? ? what : "settings")
        def ask(process, settings) = process.set(**settings)
      end
    end
  end
end
