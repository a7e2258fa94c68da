# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # How a process grows.
      class Shape < ReportCommand
        TAKES = [].freeze
        STACKS = false
        SUMMARY = "show which part of a process grew, and when, with a plot"
        USAGE = "[options] FILE…|FOLDER|PID"
        SECONDS = 30.0
        EXAMPLES = <<~TEXT
          heapsample shape /var/tmp/heap/
          heapsample shape 4711 --seconds 60
        TEXT
        HELP = <<~TEXT
          Shows the growth of each part of the process memory, also in four equal parts of the time.
          The verdict is the same as in `heapsample FOLDER`.
        TEXT

        def call(arguments)
          series = load_series(expect(arguments, 1.., "profiles"))
          print_analysis(HeapSample::Shape.new(series))
        end
      end
    end
  end
end
