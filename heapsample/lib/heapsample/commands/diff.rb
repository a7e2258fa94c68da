# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # What grew between two profiles; with three, what stayed.
      class Diff < ReportCommand
        SUMMARY = "what grew between two profiles; with three, what came and stayed"
        USAGE = "[options] BEFORE AFTER [LAST]"
        HELP = <<~TEXT
          Growth from BEFORE to AFTER, with its 95% interval. Within one process it comes from
          what was born and what died in between, so that what merely stays adds no error; a change that
          sampling alone explains is said to be within noise.
          With LAST: what came after BEFORE, was there in AFTER and still is in LAST.
          A FOLDER stands for the last profile in it.

              heapsample diff before.pb.gz after.pb.gz
              heapsample diff warm.pb.gz later.pb.gz last.pb.gz --by class

        TEXT

        def call(arguments)
          print_analysis(analysis(*load_in_order(expect(arguments, 2..3, "two profiles"))))
        end

        private

        def analysis(first, second, third = nil)
          options = analysis_options(:by, :kind, :top)
          third ? Retained.new(first, second, third, **options) : GrowthReport.new(second - first, **options)
        end
      end
    end
  end
end
