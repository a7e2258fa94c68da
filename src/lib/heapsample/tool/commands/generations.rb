# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # What is in use, by age.
      class Generations < ReportCommand
        TAKES = %i[grouping top filters].freeze
        SUMMARY = "show live memory by age, in GCs survived"
        USAGE = "[options] FILE|FOLDER|PID"
        EXAMPLES = <<~TEXT
          heapsample generations heap.pb.gz
          heapsample generations heap.pb.gz --age 100..    lines of the memory that survived 100 GCs
        TEXT
        HELP = <<~TEXT
          Objects from the start of the program form one old generation. A leak adds memory to each generation.
        TEXT

        def call(arguments)
          print_analysis(HeapSample::Generations.new(only_profile(arguments), **analysis_options(:by, :top, :age)))
        end

        private

        def define_top(parser)
          super(parser, "#{HeapSample::Generations::LINES} per generation, or #{HeapSample::Top::ROWS} with --age")
        end

        # That of a generation is no filter: the whole is shown beside it.
        def define_age(parser)
          super { |age| options[:age] = age }
        end
      end
    end
  end
end
