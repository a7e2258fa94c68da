# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # A running process as it goes.
      class Watch < ReportCommand
        TAKES = [].freeze
        STACKS = false
        SUMMARY = "watch a running process: its memory, and what grows since you look"
        USAGE = "[options] PID|URL"
        HELP = <<~TEXT
          RSS by part, threads, how much is allocated, the time that GC takes, and the lines that have grown since
          you look, anew each second. On a terminal: p pauses, s sorts by growth or by allocation, r counts
          growth from now on, n takes the next Ruby (as heapsample ps lists them), q ends. On a pipe there is a
          table a second, with --json a line.

              heapsample watch 4711
              heapsample watch 4711 --json --seconds 60 > growth.jsonl

        TEXT

        def call(arguments)
          process = Inputs.asked(expect(arguments, 1..1, "process").first)
          watching = Watching.new(process, **analysis_options.slice(:width, :style, :root))
          screen = screen_for(watching)
          screen.run(every: options[:every] || 1.0, seconds: options[:seconds])
          nil
        end

        private

        def screen_for(watching)
          return WatchLines.new(watching, $stdout) { |look| "#{JSON.generate(look.to_h)}\n" } if options[:json]
          return WatchLines.new(watching, $stdout) { |look| "#{look}\n" } unless $stdout.tty? && $stdin.tty?

          WatchScreen.new(watching, $stdin, $stdout)
        end

        def define_live(parser); end

        def define_own(parser)
          parser.on("--every SECONDS", "how often to look (1)") { |seconds| options[:every] = number("--every", seconds, 0.1.., "a number of seconds, 0.1 or more") }
          parser.on("--seconds N", "end after so many seconds") { |seconds| options[:seconds] = number("--seconds", seconds, 0.1.., "a number of seconds, 0.1 or more") }
        end
      end
    end
  end
end
