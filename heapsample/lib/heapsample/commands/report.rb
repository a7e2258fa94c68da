# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # All that there is to say of one profile.
      class Report < ReportCommand
        SUMMARY = "all of it: in use, young, malloc, churn, the memory of the process"
        USAGE = "[options] FILE|FOLDER|PID"
        HELP = <<~TEXT
          What GC.sample_profile.report prints: what is in use by line and by class, what malloc gave, what
          is young, what comes and goes, where the memory of the process is, and a sentence that reads it.

              heapsample report heap.pb.gz
              heapsample report heap.pb.gz --by method --top 5

        TEXT

        def call(arguments)
          print_analysis(HeapSample::Report.new(only_profile(arguments), **analysis_options(:by, :kind, :top)))
        end
      end
    end
  end
end
