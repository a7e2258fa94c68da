# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # A profile in another format.
      class Convert < ReportCommand
        TASK = "Write files"
        SUMMARY = "convert a profile to .folded, .json (speedscope), .pb, .pb.gz or .html"
        USAGE = "[options] FILE|FOLDER|PID -o OUTPUT"
        EXAMPLES = <<~TEXT
          heapsample convert heap.pb.gz -o heap.folded
          heapsample convert heap.pb.gz --gem nokogiri -o nokogiri.pb.gz
          heapsample convert heap.pb.gz --format folded -o - | flamegraph.pl > heap.svg
        TEXT
        HELP = <<~TEXT
          The ending of OUTPUT selects the format: .pb.gz and .pb (go tool pprof), .folded (flamegraph.pl),
          .json (speedscope), .html (opens offline). With filters, only matching rows are written.
        TEXT
        TAKES = %i[output format diagnose filters].freeze
        FORMATS = Formats::NAMES

        def call(arguments)
          expect(arguments, 1..1, "profile")
          output = output_path(arguments)
          format = format_of(output)
          Output.check_terminal(output, format)
          profile, = load(arguments)
          Progress.show("writing #{output}") { Convert.save(profile, format, output) }
          print_written(output)
        end

        def self.save(profile, format, output)
          Output.write(output) { |io| Formats.write(profile, format, io) }
        end

        private

        def format_of(output)
          options[:format] || FORMATS.find { |format| output.end_with?(".#{format}") } ||
            raise(UsageError, "#{output}: the ending names no format; use .#{FORMATS.join(", .")}, or add --format FORMAT")
        end

        def define_format(parser)
          parser.on("--format FORMAT", "format: #{FORMATS.join(", ")} (default: the ending of OUTPUT)") { |format| options[:format] = choice("--format", format, FORMATS) }
        end
      end
    end
  end
end
