# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # How a profile was taken.
      class Info < ReportCommand
        TAKES = [].freeze
        STACKS = false
        SUMMARY = "show how a profile was taken: settings, process, dropped samples, sampler memory"
        USAGE = "[options] FILE…|FOLDER|PID"
        EXAMPLES = <<~TEXT
          heapsample info heap-4711.pb.gz
          heapsample info --json heap-4711.pb.gz | jq .settings
        TEXT

        def call(arguments)
          paths = expect(arguments, 1.., "profile").map { |path| Inputs.one(path) }
          infos = paths.map { |path| HeapSample::About.new(Inputs.load(path, **asked), name: path) }
          if options[:json]
            values = infos.map(&:to_h)
            puts Printable.json(values.size == 1 ? values.first : values)
          else
            puts infos.map { |info| info.text(**look).to_s }.join("\n")
          end
        end
      end
    end
  end
end
