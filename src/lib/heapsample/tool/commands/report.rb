# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # All that there is to say of one profile.
      class Report < ReportCommand
        SUMMARY = "print all reports of one profile: live memory, malloc, allocation, process memory"
        USAGE = "[options] FILE|FOLDER|PID"
        EXAMPLES = <<~TEXT
          heapsample report heap.pb.gz
          heapsample report heap.pb.gz --by method --top 5
        TEXT
        HELP = <<~TEXT
          Prints the same text as GC.sample_profile.report. Its parts are live memory by line and by class,
          malloc memory, young objects, allocation, the memory of the process, and a summary.
        TEXT

        def call(arguments)
          print_analysis(HeapSample::Report.new(only_profile(arguments), **analysis_options(:by, :kind, :top)))
        end
      end
    end
  end
end
