# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # What grew between two profiles; with three, what stayed.
      class Diff < ReportCommand
        SUMMARY = "what grew between two profiles; with three, what came and stayed"
        USAGE = "[options] BEFORE AFTER [LAST], or PID"
        SECONDS = 10.0
        HELP = <<~TEXT
          Growth from BEFORE to AFTER, with its 95% interval. Within one process it comes from
          what was born and what died in between, so that what merely stays adds no error; a change that
          sampling alone explains is said to be within noise.
          With LAST: what came after BEFORE, was there in AFTER and still is in LAST.
          A FOLDER stands for the last profile in it. Of a running process: what grows from now on, within
          --seconds.

              heapsample diff before.pb.gz after.pb.gz
              heapsample diff warm.pb.gz later.pb.gz last.pb.gz --by class
              heapsample diff 4711 --seconds 30

        TEXT

        def call(arguments)
          process = Inputs.live(arguments.first) if arguments.size == 1
          profiles = process ? two_of(process) : load_in_order(expect(arguments, 2..3, "two profiles"))
          print_analysis(analysis(*profiles))
        end

        private

        # Of a running process, now and later.
        def two_of(process)
          names = [process.name] * 2
          filters.apply(names, Progress.show("watching #{process.name} for #{format("%g", seconds)} s") do
            [process.profile(**asked), sleep(seconds) && process.profile(**asked)]
          end)
        end

        def analysis(first, second, third = nil)
          options = analysis_options(:by, :kind, :top)
          third ? Retained.new(first, second, third, **options) : GrowthReport.new(second - first, **options)
        end
      end
    end
  end
end
