# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # What grows all along.
      class Leaks < ReportCommand
        SUMMARY = "over a series of profiles: what grows on and on and is not collected"
        USAGE = "[options] FILE…|FOLDER|PID"
        SECONDS = 30.0
        HELP = <<~TEXT
          Ranks what grows from the end of the warm-up to the end of the series and is not undone by garbage
          collection, with its growth an hour. It is a view of the diagnosis, which `heapsample FOLDER` prints:
          a row is called a leak where that says so of its lines. It takes the profiles of one process, as
          every=… writes them; of several processes, the one that grew most.

              heapsample leaks /var/tmp/profiles
              heapsample leaks /var/tmp/profiles --by class --warmup 600

        TEXT

        def call(arguments)
          series = load_series(expect(arguments, 1.., "profiles"))
          print_analysis(Progress.show("comparing #{series.size} profiles") { HeapSample::Leaks.new(series, **analysis_options(:by, :kind, :top, :warmup)) })
        end

        private

        def define_own(parser)
          parser.on("--warmup SECONDS", "time after the start of sampling that is not judged (a fifth)") do |seconds|
            options[:warmup] = number("--warmup", seconds, 0.0.., "a number of seconds, 0 or more")
          end
        end

        def define_grouping(parser)
          super(parser, [*Groups::BY, :stack])
        end

        # An age would be of each profile's own time.
        def define_age(parser); end
      end
    end
  end
end
