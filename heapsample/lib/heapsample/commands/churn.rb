# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # What is allocated and dies again.
      class Churn < ReportCommand
        SUMMARY = "what is allocated and dead again, lifetimes in GCs"
        USAGE = "[options] FILE|FOLDER|PID"
        HELP = <<~TEXT
          All that was allocated since sampling started, how much of it is dead, and how many GCs that lived:
          garbage costs time in GC, not memory. A line that makes a large share of all is worth a look.

              heapsample churn heap.pb.gz
              heapsample churn heap.pb.gz --by gem

        TEXT

        def call(arguments)
          print_analysis(HeapSample::Churn.new(only_profile(arguments), **analysis_options(:by, :kind, :top)))
        end
      end
    end
  end
end
