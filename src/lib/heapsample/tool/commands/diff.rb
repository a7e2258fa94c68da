# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # What grew between two profiles; with three, what stayed.
      class Diff < ReportCommand
        TASK = "Find a leak"
        SUMMARY = "show what grew between two profiles, or in a running process"
        USAGE = "[options] BEFORE AFTER [LAST], or PID"
        TAKES = [:by, :kind, :top, :stacks, :diagnose, :seconds, *LAYOUT, :filters].freeze
        SECONDS = 10.0
        EXAMPLES = <<~TEXT
          heapsample diff before.pb.gz after.pb.gz
          heapsample diff warm.pb.gz later.pb.gz last.pb.gz --by class
          heapsample diff 4711 --seconds 30
        TEXT
        HELP = <<~TEXT
          Prints the growth from BEFORE to AFTER, with its 95% confidence interval.
          With LAST: memory allocated after BEFORE, live in AFTER, and still live in LAST.
          For a folder, the last profile of the worst process in the diagnosis is used.
          For a running process, two profiles are taken.

          Within one process, growth is allocated minus freed memory, so retained memory adds no error.
          A change that sampling alone can explain is marked as noise.
        TEXT

        def call(arguments)
          process = Inputs.live(arguments.first) if arguments.size == 1
          profiles = process ? two_of(process) : load_in_order(expect(arguments, 2..3, "pair of profiles"))
          print_analysis(analysis(*profiles))
        end

        private

        # Of a running process, now and later.
        def two_of(process)
          names = [process.name] * 2
          filters.apply(names, Progress.show("watching #{process.name} for #{format("%g", seconds)} s") do
            [process.profile(**asked), wait && process.profile(**asked)]
          end)
        end

        # Ctrl-C ends it early.
        def wait
          sleep(seconds)
        rescue Interrupt
          @interrupted = true
        end

        def analysis(first, second, third = nil)
          options = analysis_options(:by, :kind, :top)
          third ? Retained.new(first, second, third, **options) : GrowthReport.new(second - first, **options)
        end
      end
    end
  end
end
