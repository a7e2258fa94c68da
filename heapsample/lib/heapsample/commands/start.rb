# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # Starts to sample a running process.
      class Start < Command
        SUMMARY = "sample a running process from now on"
        USAGE = "PID [SETTINGS]"
        HELP = <<~TEXT
          A running Ruby samples from now on, with the SETTINGS that RUBY_HEAP_SAMPLE takes, separated by
          commas (doc/settings.md). malloc is sampled only in a process that was started with
          --heap-sample or RUBY_HEAP_SAMPLE, such as off,malloc=standby.

              heapsample start 4711
              heapsample start 4711 interval=64k,every=60,output=/var/tmp/heaps/

        TEXT

        # What a running process takes, and what counts only where one starts.
        SETTINGS = %w[interval malloc output every keep why gc at-rss max-samples max-depth only seed quiet http http-token].freeze
        AT_START = %w[socket deploy usdt on off standby].freeze
        private_constant :SETTINGS, :AT_START

        def call(arguments)
          name, settings = expect(arguments, 1..2, "process")
          tell(Inputs.running(name), ask(Inputs.running(name), pairs(settings.to_s)))
        rescue LiveProcess::Refused => e
          raise unless (unknown = e.message[/unknown keywords?: :"?([^\s",]+)/, 1])

          raise UsageError, about(unknown)
        end

        private

        def ask(process, settings) = process.start(**settings)

        # {interval: "64k"} of "interval=64k".
        def pairs(text)
          text.split(",").to_h do |setting|
            key, value = setting.split("=", 2)
            value = "on" if setting == "quiet"
            raise UsageError, AT_START.include?(setting) ? about(setting) : "#{setting}: a setting is NAME=VALUE, such as interval=64k" unless value

            [key.to_sym, value]
          end
        end

        # Of a setting that it does not take.
        def about(name)
          return "off: heapsample stop PID ends sampling" if name == "off"
          return "#{name}: counts only where a process starts: put it into RUBY_HEAP_SAMPLE" if AT_START.include?(name)

          near = Nearest.question(name, SETTINGS).to_s
          "#{name}: no such setting#{near.empty? ? "; a running process takes #{SETTINGS.join(", ")}" : near}"
        end

        def tell(process, said)
          layout = Layout.new(width: Terminal.new($stdout).width)
          malloc = said[:malloc] || {}
          text = said[:sampling] ? "one sample per #{layout.setting(said[:interval])}#{" (auto)" if said[:interval_auto]}" : "not sampled"
          text += ", every #{said[:every]} s a profile" if said[:sampling] && said[:every]
          puts "#{process.name}: #{text}"
          puts layout.sentence("malloc is not sampled: #{malloc["missing"]}") if said[:sampling] && malloc["missing"]
        end
      end
    end
  end
end
