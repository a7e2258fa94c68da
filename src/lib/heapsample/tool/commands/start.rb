# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # Starts to sample a running process, changes its settings, or ends it.
      class Start < Command
        TASK = "Start and stop sampling"
        SUMMARY = "start or stop sampling in a running process, or change its settings"
        USAGE = "PID [SETTINGS|off]"
        EXAMPLES = <<~TEXT
          heapsample start 4711
          heapsample start 4711 interval=64k,every=60,output=/var/tmp/heap/
          heapsample start 4711 interval=16k        change one setting later
          heapsample start 4711 off                 stop, and discard the samples
        TEXT
        HELP = <<~TEXT
          In a process that is sampled already, other settings and existing samples do not change.
          `heapsample convert 4711 -o heap.pb.gz` saves a profile before you stop.
          SETTINGS are the settings of RUBY_HEAP_SAMPLE, separated by commas.
          `ruby --help` and doc/settings.md list them, with units and defaults.
          Sampling of malloc works only in a process that was started with --heap-sample or RUBY_HEAP_SAMPLE,
          for example with RUBY_HEAP_SAMPLE=off,malloc=standby.
        TEXT

        OFF = "off"
        NO_FOLDER = "No file is written unless output= is set: add output=FOLDER/ here or in RUBY_HEAP_SAMPLE."
        private_constant :OFF, :NO_FOLDER

        def call(arguments)
          name, settings = expect(arguments, 1..2, "process")
          process = Inputs.running(name)
          return print_answer(process, process.stop) if settings == OFF

          settings = pairs(settings.to_s)
          print_answer(process, process.start(**settings))
          puts NO_FOLDER if settings.keys.intersect?(%i[every at-rss]) && !settings.key?(:output)
        rescue LiveProcess::Refused => e
          raise UsageError, about(e.message) || raise
        end

        private

        # {interval: "64k"} of "interval=64k".
        def pairs(text)
          text.split(",").to_h do |setting|
            key, value = setting.split("=", 2)
            value = "on" if setting == "quiet"
            raise UsageError, without_value(setting) unless value

            [key.to_sym, value]
          end
        end

        def without_value(word)
          case word
          when OFF then "off: cannot be combined with other settings; run heapsample start PID off"
          when "on", "standby" then "#{word}: can only be set when Ruby starts; put it in RUBY_HEAP_SAMPLE"
          else "#{word}: the value is missing; write NAME=VALUE, such as interval=64k"
          end
        end

        # Of an error of the process, which has the settings that there are; nil of another error.
        def about(error)
          name, settings = error.match(/unknown setting "([^"]+)"; settings: (.*)/)&.captures
          return error[/\S+ can only be set when Ruby starts.*/] unless name

          near = Nearest.question(name, settings.split(", ")).to_s
          "#{name}: no such setting#{near.empty? ? "; settings: #{settings}" : near}"
        end

        def print_answer(process, said)
          layout = Layout.new(width: Terminal.new($stdout).width)
          malloc = said[:malloc] || {}
          text = said[:sampling] ? "one sample per #{layout.setting(said[:interval])}#{" (auto)" if said[:interval_auto]}" : "not sampled"
          text += ", every #{said[:every]} s a profile" if said[:sampling] && said[:every]
          puts layout.sentence("#{process.name}: #{text}")
          puts layout.sentence("malloc is not sampled: #{malloc["missing"]}") if said[:sampling] && malloc["missing"] && malloc["state"] != "on"
        end
      end
    end
  end
end
