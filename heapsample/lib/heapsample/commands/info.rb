# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # How a profile was taken.
      class Info < ReportCommand
        TAKES = [].freeze
        STACKS = false
        SUMMARY = "how a profile was taken: settings, process, drops, what sampling cost"
        USAGE = "[options] FILE…|FOLDER|PID"
        HELP = <<~TEXT
          What a profile says about itself: of which process and when, at which interval, what was
          dropped, and the sampler's own memory.

              heapsample info heap-4711.pb.gz
              heapsample info --json heap-4711.pb.gz | jq .settings

        TEXT

        def call(arguments)
          paths = expect(arguments, 1.., "profile").map { |path| Inputs.one(path) }
          infos = paths.map { |path| HeapSample::About.new(Inputs.load(path, **asked), name: path, **analysis_options.slice(:width, :style)) }
          if options[:json]
            values = infos.map(&:to_h)
            puts JSON.pretty_generate(values.size == 1 ? values.first : values)
          else
            puts infos.map(&:to_s).join("\n")
          end
        end
      end
    end
  end
end
