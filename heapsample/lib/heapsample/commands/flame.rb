# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # The HTML view.
      class Flame < ReportCommand
        SUMMARY = "one HTML file: flame graph, table, generations, growth; opens offline"
        USAGE = "[options] FILE [BASE] -o OUTPUT.html"
        HELP = <<~TEXT
          Writes one self-contained page that opens from disk, without network. With BASE, an earlier
          profile, or a folder, a series of one process, growth is shown too, and the account over time.

              heapsample flame heap.pb.gz -o heap.html
              heapsample flame after.pb.gz before.pb.gz -o growth.html
              heapsample flame /var/tmp/profiles -o series.html

        TEXT

        def call(arguments)
          expect(arguments, 1.., "profile")
          output = output_path(".html")
          view = View.new(subject(arguments), **options.slice(:root, :title))
          Progress.show("writing #{output}") { Output.write(output) { |io| io.write(view.to_s) } }
          tell_written(output)
        end

        private

        # In the order of time.
        def subject(paths)
          return load_series(paths).map(&:itself) if paths.size > 2 || File.directory?(paths.first)

          paths.reverse.map { |path| load(path) }
        end

        def define_options(parser)
          define_output(parser)
          parser.on("--title TEXT", "what the page is called") { |title| options[:title] = title }
          parser.on("--root DIR", "paths below it are shortened (the current folder)") { |root| options[:root] = File.expand_path(root) }
          define_filters(parser)
        end
      end
    end
  end
end
