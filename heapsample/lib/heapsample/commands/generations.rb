# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # What is in use, by age.
      class Generations < ReportCommand
        TAKES = %i[grouping top filters].freeze
        SUMMARY = "what is in use by age in GCs, and the lines behind a generation"
        USAGE = "[options] FILE|FOLDER|PID"
        HELP = <<~TEXT
          What is in use by the number of GCs it has survived. What was made at the start and stays is one
          old generation; a leak leaves something in each.

              heapsample generations heap.pb.gz
              heapsample generations heap.pb.gz --age 100..         the lines of what survived 100 GCs

        TEXT

        def call(arguments)
          print_analysis(HeapSample::Generations.new(only_profile(arguments), **analysis_options(:by, :top, :age)))
        end

        private

        # That of a generation is no filter: the whole is shown beside it.
        def define_age(parser)
          super { |age| options[:age] = age }
        end
      end
    end
  end
end
