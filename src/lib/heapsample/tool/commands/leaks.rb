# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # What grows all along.
      class Leaks < ReportCommand
        SUMMARY = "rank the lines that grow in a series of profiles and are not freed by GC"
        USAGE = "[options] FILE…|FOLDER|PID"
        SECONDS = 30.0
        EXAMPLES = <<~TEXT
          heapsample leaks /var/tmp/heap/
          heapsample leaks /var/tmp/heap/ --by class --warmup 600
          heapsample leaks 4711 --seconds 60
        TEXT
        HELP = <<~TEXT
          Ranks growth per hour, from the end of the warm-up to the end of the series.
          A row is called a leak only if the diagnosis (`heapsample FOLDER`) calls it a leak.
          The series has the profiles of one process, as the setting every=SECONDS writes them.
          In a folder with several processes, the process that grew most is used.
        TEXT

        def call(arguments)
          series = load_series(expect(arguments, 1.., "profiles"))
          print_analysis(Progress.show("comparing #{series.size} profiles") { HeapSample::Leaks.new(series, **analysis_options(:by, :kind, :top, :warmup)) })
        end

        private

        def define_own(parser)
          parser.on("--warmup SECONDS", "seconds after the start of sampling to ignore (default: a fifth of the time)") do |seconds|
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
