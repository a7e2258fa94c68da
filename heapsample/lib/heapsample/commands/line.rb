# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # One line over time.
      class Line < ReportCommand
        TAKES = %i[memory].freeze
        STACKS = false
        SUMMARY = "one line of code over a series: in use, born and died, with a plot"
        USAGE = "[options] FILE:LINE PROFILE…|FOLDER|PID"
        SECONDS = 20.0
        HELP = <<~TEXT
          What one line has in use at each profile of a series, with its 95% interval, what was born there and
          what died. It counts what the line made itself, and what gems made that it called. FILE may lack
          folders in front. Of several processes it takes the one with most profiles.

              heapsample line order.rb:12 /var/tmp/profiles
              heapsample line app/models/order.rb:12 profiles --kind malloc

        TEXT

        def call(arguments)
          line, *paths = expect(arguments, 2.., "line, and which profiles")
          print_analysis(HeapSample::LineHistory.new(load_series(paths), line, **analysis_options(:kind, :top)))
        rescue LineHistory::NotFound => e
          raise Failure, "#{e.message}#{Nearest.question(line, e.places)}"
        end

        private

        def define_own(parser)
          parser.on("--top N", "profiles of the table (20), evenly in the series") { |count| options[:top] = positive("--top", count) }
        end
      end
    end
  end
end
