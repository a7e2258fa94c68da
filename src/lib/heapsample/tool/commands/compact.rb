# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # GC.compact in a running process.
      class Compact < ReportCommand
        TAKES = [:diagnose, *LAYOUT].freeze
        MOST = 1.0
        LONGEST = 60.0 # what --most may be
        TASK = "Look at a running process"
        SUMMARY = "compact the heap of a running process, and report what that gave back"
        USAGE = "[options] PID"
        EXAMPLES = <<~TEXT
          heapsample compact 4711
          heapsample compact 4711 --most 5     also if Ruby code stops for up to 5 seconds
        TEXT
        HELP = <<~TEXT
          Prints for about how long Ruby code would stop. Then the process runs GC.compact at a safe
          point. Nothing is done if the stop would be longer than --most. Nothing is done either if too few pages could
          be emptied to be worth it (--force compacts anyway).
          The report shows RSS and heap pages before and after, and what pins the objects that cannot be moved.
          A heap walk finds what pins, if sampling is on and --diagnose is not off.
        TEXT

        def call(arguments)
          process = Inputs.running(expect(arguments, 1..1, "process").first)
          seconds, state, most = Compaction.expected(process)
          Message.print("compaction stops Ruby code for about #{format("%.2f", seconds)} s (#{Layout.new.bytes(state.live_bytes)} of live slots in #{Layout.new.bytes(state.all_bytes)} of slots)")
          check(seconds, state, most)
          print_analysis(Compaction.of(process, pins: pins(process), most: options[:most] || MOST))
        rescue LiveProcess::Refused => e
          raise Failure, e.message
        end

        private

        def check(seconds, state, most)
          allowed = options[:most] || MOST
          advice = seconds > LONGEST ? "try again when the machine is less busy" : "add --most #{seconds.ceil}"
          raise Failure, "nothing was done: the stop is longer than --most #{format("%g", allowed)}; #{advice}" if seconds > allowed
          return if options[:force] || most.nil? || Compaction.worth?(most, state.rss)

          raise Failure, "nothing was done: GC.compact could empty at most #{Layout.new.bytes(most)} of heap pages, which is not worth the stop; add --force to do it anyway"
        end

        # What pins objects, by a heap walk of a process that is sampled.
        def pins(process)
          return [] if options[:diagnose] == "off"

          process.profile(why: true, diagnose: options[:diagnose] || SHARE).info.walk&.pins || []
        rescue LiveProcess::Refused => e
          Message.print("what pins objects is not known: #{e.message}")
          []
        end

        def define_own(parser)
          parser.on("--most SECONDS", "longest stop of Ruby code (default: #{format("%g", MOST)})") { |given| options[:most] = number("--most", given, 0.0..LONGEST, "a number of seconds, 0 to 60") }
          parser.on("--force", "compact even if it is not worth it") { options[:force] = true }
        end
      end
    end
  end
end
