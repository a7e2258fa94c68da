# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # A running process as it goes.
      class Watch < ReportCommand
        TAKES = LAYOUT
        TASK = "Look at a running process"
        SUMMARY = "watch the memory of a running process, and the lines that grow"
        USAGE = "[options] PID|URL"
        EXAMPLES = <<~TEXT
          heapsample watch 4711
          heapsample watch 4711 --json --seconds 60 > growth.jsonl    one JSON line per second
        TEXT
        HELP = <<~TEXT
          Shows the verdict so far, RSS by part, threads, allocation rate, GC time, and the lines that grew since the
          command started. Before each profile the process has a major GC if 1% of its run time pays for it.
          Keys on a terminal: p (pause), s (sort by growth or by allocation), r (reset growth to zero),
          n (next process of `heapsample ps`), q (quit).
          Without a terminal, each update is one table; with --json, each update is one line.
        TEXT

        def call(arguments)
          process = Inputs.asked(expect(arguments, 1..1, "process").first)
          watching = Watching.new(process, **look)
          screen = screen_for(watching)
          screen.run(every: options[:every] || 1.0, seconds: options[:seconds])
          nil
        end

        private

        def screen_for(watching)
          return WatchLines.new(watching, $stdout) { |look| "#{JSON.generate(look.to_h)}\n" } if json?
          return WatchLines.new(watching, $stdout) { |look| "#{look}\n" } unless $stdout.tty? && $stdin.tty?

          WatchScreen.new(watching, $stdin, $stdout)
        end

        def define_own(parser)
          parser.on("--every SECONDS", "seconds between two updates (default: 1)") { |seconds| options[:every] = number("--every", seconds, 0.1.., "a number of seconds, 0.1 or more") }
          define_seconds(parser, "seconds until the command ends (default: no limit)")
        end
      end
    end
  end
end
