# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # What is in use, or was allocated, or died, row by row.
      class Top < ReportCommand
        TAKES = %i[grouping value shares memory top filters].freeze
        SUMMARY = "what is in use (or allocated, young, dead) by line, method, class, gem …"
        USAGE = "[options] FILE|FOLDER|PID"
        HELP = <<~TEXT
          The largest rows of a profile, each with its 95% interval, share and number of samples.
          ~ marks rows of so few samples that the figure may be off by a factor of two.

              heapsample top heap.pb.gz                          what is in use, by line
              heapsample top heap.pb.gz --by class --value alloc_objects
              heapsample top heap.pb.gz --class 'Ticket*' --age 10..    old tickets: which lines made them
              heapsample top heap.pb.gz --free                   who keeps heap pages that are nearly empty

        TEXT

        def asked = {**super, why: options[:why] || false}
        private :asked

        def call(arguments)
          print_analysis(HeapSample::Top.new(only_profile(arguments), **analysis_options(:by, :value, :kind, :top)))
        end
      end
    end
  end
end
