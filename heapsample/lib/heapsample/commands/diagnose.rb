# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # The answer first; also what `heapsample FOLDER` is, with no command.
      class Diagnose < ReportCommand
        FORMATS = %w[text json markdown].freeze
        TAKES = [].freeze
        SUMMARY = "what grows, where it is made, what keeps it, and how sure that is"
        USAGE = "[options] FILE…|FOLDER|PID…"
        SECONDS = 20.0
        HELP = <<~TEXT
          Judges each process of a folder of profiles, as every=… writes them, the one that grew most first:
          does it leak (objects, threads, native code), bloat, fragment, or is it steady? A leak is
          "proved" or "very likely"; growth that too few major GCs have looked at is "not settled".

          Running processes are watched for --seconds; the longer, the surer.

              heapsample /var/tmp/profiles               the same, without the command's name
              heapsample 4711 --seconds 120
              heapsample 4711 4712 4713
              heapsample diagnose /var/tmp/profiles --format markdown > issue.md

        TEXT

        def call(arguments)
          paths = expect(arguments, 1.., "profiles")
          series = all_series(paths)
          diagnosis = Progress.show("reading #{series.sum(&:size)} profiles") { HeapSample::Diagnosis.new(series, **analysis_options).tap(&:kind) }
          return $stdout.write(diagnosis.to_markdown) && nil if options[:format] == "markdown"

          options[:json] ||= options[:format] == "json"
          print_analysis(diagnosis)
        end

        private

        def define_own(parser)
          parser.on("--format FORMAT", FORMATS.join(", ")) { |format| options[:format] = choice("--format", format, FORMATS) }
        end
      end
    end
  end
end
