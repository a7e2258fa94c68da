# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # Live, allocated or freed memory, row by row.
      class Top < ReportCommand
        TAKES = [:by, :value, :kind, :top, :stacks, :diagnose, *LAYOUT, :filters].freeze
        BY = [*Groups::BY, :generation].freeze
        VALUES = [*Value::NAMES, :churn].freeze
        TOP = ["ROWS", "rows in a table", "#{HeapSample::Top::ROWS}, or #{HeapSample::Generations::LINES} per generation"].freeze
        TASK = "Read one profile"
        SUMMARY = "rank live memory by line, method, class or gem"
        USAGE = "[options] FILE|FOLDER|PID"
        EXAMPLES = <<~TEXT
          heapsample top heap.pb.gz                                    live memory, by line
          heapsample top heap.pb.gz --by class --value alloc_objects   allocated objects, by class
          heapsample top heap.pb.gz --class 'Ticket*' --age 10..       lines that allocated old tickets
          heapsample top heap.pb.gz --value churn                      allocated memory, and how soon it is freed
          heapsample top heap.pb.gz --by generation                    live memory by age, in GCs survived
          heapsample top heap.pb.gz --value holds_free                 lines that hold nearly empty heap pages
        TEXT
        HELP = <<~TEXT
          Prints the largest rows, each with its 95% confidence interval, share and number of samples.
          A row marked ~ has few samples: its figure can be wrong by a factor of two.

          --value churn prints memory allocated since sampling started, the freed share, and the lifetime of
          freed objects in GCs. Short-lived objects cost GC time, not memory. Begin with the line that has the
          largest share.

          --by generation prints live memory by age, with the largest lines of each age. For its classes, write
          generation:class. Objects from the start of the program form one old generation. A leak adds memory to
          each generation.

          The value holds_free is the free memory in the heap pages that a row holds. The value unshared is the
          memory that a forked process no longer shares with its parent.
        TEXT

        def call(arguments)
          print_analysis(options[:generation] ? generations(arguments) : ranked(arguments))
        end

        private

        def ranked(arguments)
          return HeapSample::Churn.new(only_profile(arguments), **analysis_options(:by, :kind, :top)) if options[:value] == :churn

          HeapSample::Top.new(only_profile(arguments), **analysis_options(:by, :value, :kind, :top))
        end

        # An age selects generations here, so that the total is shown, too.
        def generations(arguments)
          given = %i[value kind].find { |name| options[name] }
          raise UsageError, "--#{given} cannot be combined with --by generation; remove one of them" if given

          age = filters.take_age
          HeapSample::Generations.new(only_profile(arguments), **analysis_options(:top), by: options[:generation], age: age)
        end

        def take_by(by)
          name, kind = by.split(":", 2)
          super(name == "generation" ? name : by)
          options[:generation] = grouping("--by", kind || "line", Groups::BY) if options[:by] == :generation
        end
      end
    end
  end
end
