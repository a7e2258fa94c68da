# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # What is in use, or was allocated, or died, row by row.
      class Top < ReportCommand
        SUMMARY = "what is in use (or allocated, young, dead), by line, method, class, gem …"
        USAGE = "[options] FILE"
        HELP = <<~TEXT
          The largest rows of a profile, each with its 95% interval, share and number of samples.
          ~ marks rows of so few samples that the figure may be off by a factor of two.

              heapsample top heap.pb.gz                       by line
              heapsample top heap.pb.gz --by class --top 5
              heapsample top heap.pb.gz --gem nokogiri        what nokogiri is on the stack of

        TEXT

        def call(arguments)
          path, = expect(arguments, 1..1, "profile")
          print_analysis(Report.new(load(path), **analysis_options(:by, :kind, :top, :root), width: layout_options[:width]))
        end

        private

        def define_options(parser)
          define_grouping(parser)
          define_memory(parser)
          define_top(parser)
          define_filters(parser)
          super
        end
      end
    end
  end
end
