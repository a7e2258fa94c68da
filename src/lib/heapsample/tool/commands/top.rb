# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # What is in use, or was allocated, or died, row by row.
      class Top < ReportCommand
        TAKES = %i[grouping value shares memory top filters].freeze
        SUMMARY = "rank live memory by line, method, class or gem"
        USAGE = "[options] FILE|FOLDER|PID"
        EXAMPLES = <<~TEXT
          heapsample top heap.pb.gz                                    live memory, by line
          heapsample top heap.pb.gz --by class --value alloc_objects   allocated objects, by class
          heapsample top heap.pb.gz --class 'Ticket*' --age 10..       lines that allocated old tickets
          heapsample top heap.pb.gz --free                             lines that hold nearly empty heap pages
        TEXT
        HELP = <<~TEXT
          Prints the largest rows, each with its 95% confidence interval, share and number of samples.
          A row marked ~ has few samples: its figure can be wrong by a factor of two.
        TEXT

        def call(arguments)
          print_analysis(HeapSample::Top.new(only_profile(arguments), **analysis_options(:by, :value, :kind, :top)))
        end
      end
    end
  end
end
