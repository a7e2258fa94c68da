# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # One line over time.
      class Line < ReportCommand
        TAKES = [:top, :kind, :seconds, :diagnose, *LAYOUT].freeze
        TOP = ["PROFILES", "profiles in the table, at equal distances", HeapSample::LineHistory::ROWS].freeze
        TASK = "Find a leak"
        SUMMARY = "show one line of code over time: live, allocated and freed memory, with a plot"
        USAGE = "[options] FILE:LINE PROFILE…|FOLDER|PID"
        SECONDS = 20.0
        EXAMPLES = <<~TEXT
          heapsample line order.rb:12 /var/tmp/heap/
          heapsample line app/models/order.rb:12 /var/tmp/heap/ --kind malloc
          heapsample line order.rb:12 4711
        TEXT
        HELP = <<~TEXT
          For each profile of a series: live memory with its 95% confidence interval, and memory allocated
          and freed since the profile before. Memory that a gem allocates is counted for the line that called the gem.
          The folders at the start of FILE can be left out. In a folder with several processes, the process
          with the most profiles is used.
        TEXT

        def call(arguments)
          line, *paths = expect(arguments, 2.., "line or profile")
          print_analysis(HeapSample::LineHistory.new(load_series(paths), line, **analysis_options(:kind, :top)))
        rescue LineHistory::NotFound => e
          raise Failure, "#{e.message}#{Nearest.question(line, e.places)}"
        end
      end
    end
  end
end
