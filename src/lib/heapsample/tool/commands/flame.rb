# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # The HTML view.
      class Flame < ReportCommand
        SUMMARY = "write one HTML page: diagnosis, flame graph, table and growth"
        USAGE = "[options] [BEFORE] FILE|FOLDER|PID -o OUTPUT.html"
        EXAMPLES = <<~TEXT
          heapsample flame heap.pb.gz -o heap.html                    one profile
          heapsample flame before.pb.gz after.pb.gz -o growth.html    growth between two profiles
          heapsample flame /var/tmp/heap/ -o series.html              diagnosis of a folder
        TEXT
        HELP = <<~TEXT
          The page opens from disk, without a network. For a folder or more than two files, the page begins
          with the diagnosis of all processes. The process that grew most follows: its growth, its last
          profile and its memory over time.
        TEXT

        FORMATS = %w[.html .htm].freeze

        def call(arguments)
          expect(arguments, 1.., "profile")
          output = output_path(arguments, ".html")
          Flame.check_format(output)
          subject, diagnosis = series?(arguments) ? diagnosed(arguments) : [load_in_order(arguments), nil]
          view = View.new(subject, diagnosis: diagnosis, **options.slice(:root, :title))
          page = Progress.show("making #{output}") { view.to_s }
          Output.write(output) { |io| io.write(page) }
          tell_written(output)
        end

        # A name without an ending may be a device or a pipe.
        def self.check_format(output)
          return if File.extname(output).empty? || output.end_with?(*FORMATS)

          others = Convert::FORMATS.map { |format| ".#{format}" } - FORMATS
          raise UsageError, "#{output}: a page must end with #{FORMATS.first}; heapsample convert writes #{others.join(", ")}"
        end

        private

        def series?(paths) = paths.size > 2 || paths.any? { |path| path != Inputs::STDIN && File.directory?(path) }

        # The process that grew most, and what is said of all; of a part of the profiles nothing is said.
        def diagnosed(paths)
          series = all_series(paths)
          diagnosis = Progress.show("reading #{series.sum(&:size)} profiles") { Diagnosis.new(series, root: options[:root] || Dir.pwd).tap(&:kind) }
          shown = filters.apply_to_series(diagnosis.first.series)
          Message.say("#{shown.describe}#{beside(series.size - 1)}")
          [shown, (diagnosis if filters.empty?)]
        end

        def beside(count)
          count > 0 ? "; #{count} more #{count == 1 ? "is" : "are"} in the diagnosis" : ""
        end

        def define_options(parser)
          define_output(parser, ".html")
          parser.on("--title TEXT", "title of the page (default: process and time of the profile)") { |title| options[:title] = title }
          parser.on("--root FOLDER", "shorten paths below this folder (default: the current folder)") { |root| options[:root] = File.expand_path(root) }
          define_live(parser)
        end
      end
    end
  end
end
