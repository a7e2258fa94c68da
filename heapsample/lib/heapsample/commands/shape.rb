# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # How a process grows.
      class Shape < ReportCommand
        TAKES = [].freeze
        STACKS = false
        SUMMARY = "whether a process bloats, fragments or leaks, with a plot"
        USAGE = "[options] FILE…|FOLDER|PID"
        SECONDS = 30.0
        HELP = <<~TEXT
          From the accounts of memory in a series: does it step up and stay (bloat), level off while memory
          lies idle (fragmentation), or grow in a line (leak), alone or together, with the evidence.

              heapsample shape /var/tmp/profiles

        TEXT

        def call(arguments)
          series = load_series(expect(arguments, 1.., "profiles"))
          print_analysis(HeapSample::Shape.new(series, **analysis_options.slice(:width, :style)))
        end
      end
    end
  end
end
