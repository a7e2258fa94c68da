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
          From the accounts of memory in a series: which part of the process grew, and when, as a plot and as
          growth in four equal parts of the time. The verdict is that of `heapsample FOLDER`.

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
