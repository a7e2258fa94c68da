# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # Where the memory of a running process is.
      class Memory < ReportCommand
        TAKES = [].freeze
        STACKS = false
        SUMMARY = "where the memory of a running process is: slots, malloc, stacks, code"
        USAGE = "[options] PID|URL"
        HELP = <<~TEXT
          Asks a running Ruby where its resident memory is, and what that grew in since sampling started,
          with its threads and fibers. It is asked without a stop of the program.

              heapsample memory 4711
              heapsample memory http://127.0.0.1:6060

        TEXT

        def call(arguments)
          process = Inputs.asked(expect(arguments, 1..1, "process").first)
          said = process.memory
          return puts(JSON.pretty_generate(said.transform_values { |value| value&.to_h })) if options[:json]

          layout = Layout.new(**analysis_options.slice(:width, :style))
          account, start = said.values_at(:account, :account_at_start)
          sections = [account.lines(layout, start, "since sampling started"), AliveText.new(said[:alive], layout).lines]
          puts layout.text(sections)
        end
      end
    end
  end
end
