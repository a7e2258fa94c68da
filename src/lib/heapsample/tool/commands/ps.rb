# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # The Rubies that run here, or one of them.
      class Ps < ReportCommand
        TAKES = LAYOUT
        TASK = "Look at a running process"
        SUMMARY = "list the Ruby processes that have the sampler, or show where the memory of one process is"
        USAGE = "[options] [PID|URL]"
        EXAMPLES = <<~TEXT
          heapsample ps
          heapsample ps 4711                            the memory of one process: slots, malloc, stacks, code
          heapsample ps --seconds 30                    also diagnose each process for 30 seconds
          heapsample ps --json | jq '.[].process_id'
        TEXT
        HELP = <<~TEXT
          Lists every process with the heap sampler that your user can connect to. The process whose RSS grew
          most is first. The column "of" has the number of the parent process. Growth is RSS growth since
          sampling started, and is known only for processes with an open control socket. A process that was
          sampled from its start has grown by loading the program: its growth is not shown in the first 10
          minutes.

          With --seconds, the first line of each diagnosis is printed below the table.
          With a PID: the parts of the resident memory, their growth since sampling started, threads and fibers.
        TEXT
        HEAD = [["pid", :right], ["of", :right, 2], ["RSS", :right], ["grew", :right], ["in", :right], ["threads", :right, 1], ["sampled", :left], ["title", :left]].freeze

        # For a process that only its own user and root may ask.
        UNKNOWN = "?"
        FOREIGN = "#{UNKNOWN} belongs to another user; run this as that user or as root."
        # One that does not answer holds up no other.
        AT_ONCE = 200
        # Sampling that began so soon after the process did, in seconds, began with it.
        AT_START = 60
        # Until then growth since the start is mostly from loading the program.
        START_LASTS = 600
        FROM_START = "* since the process started, so it includes loading the program."
        private_constant :UNKNOWN, :FOREIGN, :AT_ONCE, :AT_START, :START_LASTS, :FROM_START

        def call(arguments)
          name, = expect(arguments, 0..1, "process")
          name ? print_one(Inputs.asked(name)) : print_all
        end

        private

        def print_one(process)
          raise UsageError, "--seconds is for the list of processes; run heapsample PID --seconds SECONDS" if options[:seconds]

          memory = process.memory
          return puts(JSON.pretty_generate(plain(memory))) if json?

          layout = Layout.new(**look.except(:root))
          account, start = memory.values_at(:account, :account_at_start)
          puts layout.text([AccountText.new(account, layout, earlier: start, since: "since sampling started").lines, AliveText.new(memory[:alive], layout).lines])
        end

        def print_all
          said, refused = all
          return puts(JSON.pretty_generate(said.map { |about| plain(about) })) if json?

          layout = Layout.new(**look)
          sections = [table(layout, said), [*start_line(layout, said), *foreign_line(layout, said)], *first_lines(layout, said)]
          puts said.empty? ? "No Ruby with the heap sampler runs here, or you may not connect to it." : layout.text(sections)
          refused.each { |message| Message.print(message) }
          nil
        end

        def define_own(parser)
          define_seconds(parser, "seconds to watch sampled processes, and show what grows (default: do not watch)")
        end

        def all
          refused = []
          others = LiveProcess.all.reject { |process| process.pid == Process.pid }
          said = others.each_slice(AT_ONCE).flat_map { |some| some.map { |process| Thread.new { about(process, refused) } }.filter_map(&:value) }
          refused.concat(diagnose(said)) if options[:seconds]
          [said.sort_by.with_index { |about, index| [*(grew(about)&.then { |bytes| [0, -bytes] } || [1, 0]), index] }, refused]
        end

        # nil if the process cannot be asked: the reason is added to +refused+, unless the process has ended meanwhile.
        def about(process, refused)
          (process.listens? ? process.hello : process.outline).then { |about| about.merge(process_id: process.pid, sampled_from_start: from_start?(process, about)) }
        rescue LiveProcess::Refused => e
          refused << e.message unless ends?(process)
          nil
        end

        def from_start?(process, about)
          started = process.started
          !about[:started_ns].nil? && !started.nil? && about[:started_ns] / 1e9 - started.to_f < AT_START
        end

        # A process that ends closes its connections, and then removes its socket.
        def ends?(process)
          10.times.any? do
            sleep(0.05)
            !LiveProcess.new(process.pid).listens?
          end
        end

        # Adds the first line of the diagnosis; what could not be asked.
        def diagnose(said)
          sampled = said.select { |about| about[:sampling] }.to_h { |about| [LiveProcess.new(about[:process_id]), about] }
          return [] if sampled.empty?

          observing = Observing.new(sampled.keys, seconds: options[:seconds])
          observed(observing, &:by_source).each do |process, series|
            sampled[process][:diagnosis] = HeapSample::Diagnosis.new([series]).first.text(**look).sentence
          end
          observing.refused
        end

        def first_lines(layout, said)
          said.select { |about| about[:diagnosis] }.map { |about| layout.sentence("#{about[:process_id]}: #{about[:diagnosis]}") }
        end

        def grew(about)
          now, start = about[:account]&.rss, about[:account_at_start]&.rss
          now - start if now && start && !(about[:sampled_from_start] && seconds_of(about) < START_LASTS)
        end

        # Since sampling started.
        def seconds_of(about) = (about[:taken_ns] - about[:started_ns]) / 1e9

        def start_line(layout, said)
          said.any? { |about| grew(about) && about[:sampled_from_start] } ? layout.sentence(FROM_START) : []
        end

        def table(layout, said)
          layout.table(HEAD, said.map { |about| row(layout, about) })
        end

        def foreign_line(layout, said) = said.any? { |about| about[:foreign] } ? layout.sentence(FOREIGN) : []

        def row(layout, about)
          account, grew = about[:account], grew(about)
          [about[:process_id].to_s, about[:parent_id].to_s, account&.rss ? layout.bytes(account.rss) : "?",
           grew ? "#{layout.bytes(grew, sign: true)}#{"*" if about[:sampled_from_start]}" : Layout::NOTHING,
           grew && about[:started_ns] ? layout.duration(seconds_of(about)) : Layout::NOTHING,
           (account&.alive || {}).fetch(:threads, "?").to_s, sampled(layout, about), about[:title].to_s]
        end

        def sampled(layout, about)
          return UNKNOWN if about[:foreign]

          about[:sampling] ? "each #{layout.setting(about[:interval])}" : "no"
        end

        def plain(about)
          about.transform_values { |value| [Account, Alive].include?(value.class) ? value.to_h : value }
        end
      end
    end
  end
end
