# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # The HTML view.
      class Page < ReportCommand
        TASK = "Write files"
        SUMMARY = "write one HTML page: diagnosis, flame graph, table and growth"
        USAGE = "[options] [BEFORE] FILE|FOLDER|PID -o OUTPUT.html"
        EXAMPLES = <<~TEXT
          heapsample page heap.pb.gz -o heap.html                    one profile
          heapsample page before.pb.gz after.pb.gz -o growth.html    growth between two profiles
          heapsample page /var/tmp/heap/ -o series.html              diagnosis of a folder
        TEXT
        HELP = <<~TEXT
          The page opens from disk, without a network. For a folder or more than two files, the page begins
          with the diagnosis. The worst process is shown: its growth, its last profile and its memory over
          time. Up to seven other processes can be chosen, and a process of another deploy compared.
        TEXT

        TAKES = %i[output root diagnose filters].freeze
        ENDINGS = PAGE_ENDINGS
        # For a running process among other profiles.
        SECONDS = 20.0

        def call(arguments)
          expect(arguments, 1.., "profile")
          output = page_path(arguments)
          subject, given = series?(arguments) ? diagnosed(arguments) : [load_in_order(arguments), {}]
          write_page(View.new(subject, **given, **options.slice(:root, :title)), output)
        end

        private

        def asked = {**super, references: true}

        def series?(paths) = (paths.size > 2 && !paths.all? { |path| Dump.file?(path) }) || paths.any? { |path| path != Inputs::STDIN && File.directory?(path) }

        # The worst process, and the diagnosis of all; no diagnosis for a part of the profiles.
        def diagnosed(paths)
          series, warnings = all_series(paths)
          diagnosis = Progress.show("reading #{series.sum(&:size)} profiles") { Diagnosis.new(series, warnings: warnings).tap(&:kind) }
          shown = filters.apply_to_series(diagnosis.first.series)
          Message.print("#{shown.describe}#{beside(series.size - 1)}")
          [shown, filters.empty? ? {others: others(diagnosis), diagnosis: diagnosis.text(**options.slice(:root))} : {}]
        end

        # The other series, each with the number of its process in the diagnosis.
        def others(diagnosis)
          numbers = diagnosis.each_with_index.flat_map { |process, number| process.members.map { |one| [one, number] } }
          numbers.reject { |one, _| one.equal?(diagnosis.first.series) }.to_h
        end

        def beside(count)
          count > 0 ? "; #{count} more #{count == 1 ? "is" : "are"} in the diagnosis" : ""
        end

        def define_own(parser)
          parser.on("--title TEXT", "title of the page (default: process and time of the profile)") { |title| options[:title] = title }
        end
      end
    end
  end
end
