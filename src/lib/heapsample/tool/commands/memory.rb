# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # Where the memory of a running process is.
      class Memory < ReportCommand
        TAKES = [].freeze
        STACKS = false
        SUMMARY = "show where the memory of a running process is: slots, malloc, stacks, code"
        USAGE = "[options] PID|URL"
        EXAMPLES = <<~TEXT
          heapsample memory 4711
          heapsample memory http://127.0.0.1:6060
        TEXT
        HELP = <<~TEXT
          Prints the parts of the resident memory, their growth since sampling started, threads and fibers.
          The program runs on.
        TEXT

        def call(arguments)
          process = Inputs.asked(expect(arguments, 1..1, "process").first)
          said = process.memory
          return puts(JSON.pretty_generate(said.transform_values { |value| value&.to_h })) if options[:json]

          layout = Layout.new(**look.except(:root))
          account, start = said.values_at(:account, :account_at_start)
          sections = [AccountText.new(account, layout, earlier: start, since: "since sampling started").lines, AliveText.new(said[:alive], layout).lines]
          puts layout.text(sections)
        end

        private

        # Its figures need no GC.
        def define_live(parser); end
      end
    end
  end
end
