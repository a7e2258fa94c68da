# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # What is allocated and dies again.
      class Churn < ReportCommand
        SUMMARY = "show which lines allocate most, and how soon the memory is freed"
        USAGE = "[options] FILE|FOLDER|PID"
        EXAMPLES = <<~TEXT
          heapsample churn heap.pb.gz
          heapsample churn heap.pb.gz --by gem
        TEXT
        HELP = <<~TEXT
          Prints memory allocated since sampling started, the freed share, and the lifetime of freed objects in GCs.
          Short-lived objects cost GC time, not memory. Begin with the line that has the largest share.
        TEXT

        def call(arguments)
          print_analysis(HeapSample::Churn.new(only_profile(arguments), **analysis_options(:by, :kind, :top)))
        end
      end
    end
  end
end
