# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # The Rubies that run here.
      class Ps < ReportCommand
        TAKES = [].freeze
        STACKS = false
        SUMMARY = "which Rubies run here: memory, growth, threads; with --seconds, what grows"
        USAGE = "[options]"
        HELP = <<~TEXT
          Each running Ruby with the heap sampler that you may ask, the one that grew most first. A process
          is the child of the one whose number is under "of". Growth is that of RSS since sampling started.
          A process that nobody has asked yet is not asked for this either. Below is who answers HTTP, for
          itself and for others with the same http=.

          With --seconds those that are sampled are watched for so long, and the first line of each one's
          diagnosis is below the table.

              heapsample ps
              heapsample ps --seconds 30
              heapsample ps --json | jq '.[].process_id'

        TEXT
        HEAD = [["pid", :right], ["of", :right, 2], ["RSS", :right], ["grew", :right], ["in", :right], ["threads", :right, 1], ["sampled", :left], ["title", :left]].freeze

        # Of a process that only its own user and root may ask.
        UNKNOWN = "?"
        FOREIGN = "#{UNKNOWN} belongs to another user: ask as that user, or as root."
        private_constant :UNKNOWN, :FOREIGN

        def call(arguments)
          expect(arguments, 0..0, "")
          said, refused = all
          return puts(JSON.pretty_generate(said.map { |about| plain(about) })) if options[:json]

          layout = Layout.new(**analysis_options.slice(:width, :style, :root))
          sections = [table(layout, said), *http_lines(layout, said), foreign_line(layout, said), *first_lines(layout, said)]
          puts said.empty? ? "No Ruby with the heap sampler runs here that you may ask." : layout.text(sections)
          refused.each { |message| Message.say(message) }
          nil
        end

        private

        def define_live(parser)
          parser.on("--seconds N", "watch those that are sampled for so long, and say what grows") do |seconds|
            options[:seconds] = number("--seconds", seconds, 0.1.., "a number of seconds, 0.1 or more")
          end
        end

        def all
          refused = []
          said = (LiveProcess.all.reject { |process| process.pid == Process.pid }).filter_map do |process|
            (process.listens? ? process.hello : process.outline).merge(process_id: process.pid)
          rescue LiveProcess::Refused => e
            refused << e.message
            nil
          end
          refused.concat(diagnose(said)) if options[:seconds]
          [said.sort_by.with_index { |about, index| [-(grew(about) || -1), index] }, refused]
        end

        # Adds the first line of the diagnosis; what could not be asked.
        def diagnose(said)
          sampled = said.select { |about| about[:sampling] }.to_h { |about| [LiveProcess.new(about[:process_id]), about] }
          return [] if sampled.empty?

          observing = Observing.new(sampled.keys, seconds: options[:seconds])
          observing.by_source.each do |process, series|
            sampled[process][:diagnosis] = HeapSample::Diagnosis.new([series], **analysis_options).first.to_h.dig(:verdict, :sentence)
          end
          observing.refused
        end

        def first_lines(layout, said)
          said.select { |about| about[:diagnosis] }.map { |about| layout.sentence("#{about[:process_id]}: #{about[:diagnosis]}") }
        end

        def grew(about)
          now, start = about[:account]&.rss, about[:account_at_start]&.rss
          now - start if now && start
        end

        def table(layout, said)
          layout.table(HEAD, said.map { |about| row(layout, about) })
        end

        def http_lines(layout, said)
          said.select { |about| about[:http] }.map { |about| layout.sentence("#{about[:process_id]} answers HTTP at #{about[:http]}.") }
        end

        def foreign_line(layout, said) = said.any? { |about| about[:foreign] } ? layout.sentence(FOREIGN) : []

        def row(layout, about)
          account, grew = about[:account], grew(about)
          [about[:process_id].to_s, about[:parent_id].to_s, account&.rss ? layout.bytes(account.rss) : "?",
           grew ? layout.bytes(grew, sign: true) : Layout::NOTHING, grew ? layout.duration((about[:taken_ns] - about[:started_ns]) / 1e9) : Layout::NOTHING,
           (account&.alive || {}).fetch(:threads, "?").to_s, sampled(layout, about), about[:title].to_s]
        end

        def sampled(layout, about)
          return UNKNOWN if about[:foreign]

          about[:sampling] ? "each #{layout.setting(about[:interval])}" : "no"
        end

        def plain(about)
          about.transform_values { |value| value.respond_to?(:parts) ? value.to_h : value }
        end
      end
    end
  end
end
