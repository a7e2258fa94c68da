# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # Starts to sample a running process.
      class Start < Command
        SUMMARY = "start sampling in a running process"
        USAGE = "PID [SETTINGS]"
        EXAMPLES = <<~TEXT
          heapsample start 4711
          heapsample start 4711 interval=64k,every=60,output=/var/tmp/heap/
        TEXT
        HELP = <<~TEXT
          SETTINGS are the settings of RUBY_HEAP_SAMPLE, separated by commas.
          `ruby --help` and doc/settings.md list them, with units and defaults.
          Sampling of malloc works only in a process that was started with --heap-sample or RUBY_HEAP_SAMPLE,
          for example with RUBY_HEAP_SAMPLE=off,malloc=standby.
        TEXT

        # What a running process takes, and what counts only where one starts.
        SETTINGS = %w[interval malloc output every keep diagnose at-rss max-samples only seed quiet].freeze
        AT_START = %w[socket deploy usdt on off standby].freeze
        NO_FOLDER = "No file is written unless output= is set: add output=FOLDER/ here or in RUBY_HEAP_SAMPLE."
        private_constant :SETTINGS, :AT_START, :NO_FOLDER

        def call(arguments)
          name, settings = expect(arguments, 1..2, "process")
          settings = pairs(settings.to_s)
          tell(Inputs.running(name), ask(Inputs.running(name), settings))
          puts NO_FOLDER if instance_of?(Start) && settings.keys.intersect?(%i[every at-rss]) && !settings.key?(:output)
        rescue LiveProcess::Refused => e
          raise unless (unknown = e.message[/unknown setting "\K[^"]+|\S+(?= can only be set when Ruby starts)/])

          raise UsageError, about(unknown)
        end

        private

        def ask(process, settings) = process.start(**settings)

        # {interval: "64k"} of "interval=64k".
        def pairs(text)
          text.split(",").to_h do |setting|
            key, value = setting.split("=", 2)
            value = "on" if setting == "quiet"
            raise UsageError, AT_START.include?(setting) ? about(setting) : "#{setting}: the value is missing; write NAME=VALUE, such as interval=64k" unless value

            [key.to_sym, value]
          end
        end

        # Of a setting that it does not take.
        def about(name)
          return "off: not possible here; end sampling with heapsample stop PID" if name == "off"
          return "#{name}: can only be set when Ruby starts; put it in RUBY_HEAP_SAMPLE" if AT_START.include?(name)

          near = Nearest.question(name, SETTINGS).to_s
          "#{name}: no such setting#{near.empty? ? "; a running process takes #{SETTINGS.join(", ")}" : near}"
        end

        def tell(process, said)
          layout = Layout.new(width: Terminal.new($stdout).width)
          malloc = said[:malloc] || {}
          text = said[:sampling] ? "one sample per #{layout.setting(said[:interval])}#{" (auto)" if said[:interval_auto]}" : "not sampled"
          text += ", every #{said[:every]} s a profile" if said[:sampling] && said[:every]
          puts layout.sentence("#{process.name}: #{text}")
          puts layout.sentence("malloc is not sampled: #{malloc["missing"]}") if said[:sampling] && malloc["missing"]
        end
      end
    end
  end
end
