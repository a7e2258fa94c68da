# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # The answer first; also what `heapsample FOLDER` is, with no command.
      class Diagnose < ReportCommand
        FORMATS = %w[text json markdown].freeze
        TAKES = [].freeze
        SUMMARY = "report whether each process leaks, at which line, and what retains the memory"
        USAGE = "[options] FILE…|FOLDER|PID…"
        SECONDS = 20.0
        EXAMPLES = <<~TEXT
          heapsample /var/tmp/heap/                  all processes in a folder of profiles
          heapsample 4711                            a running process
          heapsample 4711 4712 --seconds 120         two running processes, for two minutes
          heapsample diagnose /var/tmp/heap/ --format markdown > issue.md
        TEXT
        HELP = <<~TEXT
          `heapsample FOLDER` is short for `heapsample diagnose FOLDER`. The profiles are the ones that the
          setting every=SECONDS writes. The process that grew most is printed first.

          The report covers leaks of objects, threads and native memory, bloat and fragmentation.
          It shows how certain each finding is. Growth that too few major GCs have checked is not called a leak.
          A running process is watched for --seconds; a longer time gives a more certain result.
        TEXT

        def call(arguments)
          paths = expect(arguments, 1.., "profiles")
          series = all_series(paths)
          diagnosis = Progress.show("reading #{series.sum(&:size)} profiles") { HeapSample::Diagnosis.new(series).tap(&:kind) }
          return $stdout.write(diagnosis.text(**look).to_markdown) && nil if options[:format] == "markdown"

          options[:json] ||= options[:format] == "json"
          print_analysis(diagnosis)
        end

        private

        def define_own(parser)
          parser.on("--format FORMAT", "output format: #{FORMATS.join(", ")} (default: text)") { |format| options[:format] = choice("--format", format, FORMATS) }
        end
      end
    end
  end
end
