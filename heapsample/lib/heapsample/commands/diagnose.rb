# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # The answer first; also what `heapsample FOLDER` is, with no command.
      class Diagnose < ReportCommand
        FORMATS = %w[text json markdown].freeze
        TAKES = [].freeze
        SUMMARY = "what grows, where it is made, what keeps it, and how sure that is"
        USAGE = "[options] FILE…|FOLDER|PID"
        HELP = <<~TEXT
          Judges each process of a folder of profiles, as every=… writes them, the one that grew most first:
          does it leak (objects, threads, native code), bloat, fragment, or is it steady? A leak is
          "proved" or "very likely"; growth that too few major GCs have looked at is "not settled".

          A running process is watched for --seconds; the longer, the surer.

              heapsample /var/tmp/profiles               the same, without the command's name
              heapsample 4711 --seconds 120
              heapsample diagnose /var/tmp/profiles --format markdown > issue.md

        TEXT

        def call(arguments)
          paths = expect(arguments, 1.., "profiles")
          series = paths.size == 1 && (process = Inputs.live(paths.first)) ? [watched(process)] : all_series(paths)
          diagnosis = Progress.show("reading #{series.sum(&:size)} profiles") { HeapSample::Diagnosis.new(series, **analysis_options).tap(&:kind) }
          return $stdout.write(diagnosis.to_markdown) && nil if options[:format] == "markdown"

          options[:json] ||= options[:format] == "json"
          print_analysis(diagnosis)
        end

        private

        # So many profiles of a running process in that time, at most.
        PROFILES = 20
        SECONDS = 20.0

        # Profiles of a running process, in the time there is.
        def watched(process)
          seconds = options[:seconds] || SECONDS
          step = seconds / (PROFILES - 1)
          Progress.show("watching #{process.name} for #{format("%g", seconds)} s") do |progress|
            Series.new(Array.new(PROFILES) do |index|
              sleep(step) unless index.zero?
              progress.at = "#{index + 1} of #{PROFILES} profiles"
              process.profile(gc: options[:full_gc])
            end)
          end
        end

        def define_own(parser)
          parser.on("--seconds N", "of a running process: how long to look (#{format("%g", SECONDS)})") do |seconds|
            options[:seconds] = number("--seconds", seconds, 0.1.., "a number of seconds, 0.1 or more")
          end
          parser.on("--format FORMAT", FORMATS.join(", ")) { |format| options[:format] = choice("--format", format, FORMATS) }
        end
      end
    end
  end
end
