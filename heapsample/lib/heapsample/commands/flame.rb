# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # The HTML view.
      class Flame < ReportCommand
        SUMMARY = "one HTML file: flame graph, table, generations, growth; opens offline"
        USAGE = "[options] [BEFORE] FILE|FOLDER -o OUTPUT.html"
        HELP = <<~TEXT
          Writes one self-contained page that opens from disk, without network. With BEFORE, an earlier
          profile, it shows the growth too. Of a folder, or of more than two files, it takes the series of one
          process: the page shows the last profile, the growth, and the memory of the process over time.

              heapsample flame heap.pb.gz -o heap.html
              heapsample flame before.pb.gz after.pb.gz -o growth.html
              heapsample flame /var/tmp/profiles -o series.html

        TEXT

        FORMATS = %w[.html .htm].freeze

        def call(arguments)
          expect(arguments, 1.., "profile")
          output = output_path(arguments, ".html")
          check_format(output)
          view = View.new(subject(arguments), **options.slice(:root, :title))
          Progress.show("writing #{output}") { Output.write(output) { |io| io.write(view.to_s) } }
          tell_written(output)
        end

        private

        # A name without an ending may be a device or a pipe.
        def check_format(output)
          return if File.extname(output).empty? || output.end_with?(*FORMATS)

          others = Convert::FORMATS.map { |format| ".#{format}" } - FORMATS
          raise UsageError, "#{output}: flame writes #{FORMATS.first}; heapsample convert writes #{others.join(", ")}"
        end

        # In the order of time.
        def subject(paths)
          return load_in_order(paths) unless paths.size > 2 || paths.any? { |path| path != Inputs::STDIN && File.directory?(path) }

          load_series(paths).tap do |series|
            Message.say("#{series.describe}#{"; left out are #{series.warnings.size} more" unless series.warnings.empty?}")
          end
        end

        def define_options(parser)
          define_output(parser)
          parser.on("--title TEXT", "title of the page") { |title| options[:title] = title }
          parser.on("--root DIR", "paths below it are shortened (the current folder)") { |root| options[:root] = File.expand_path(root) }
          define_filters(parser)
        end
      end
    end
  end
end
