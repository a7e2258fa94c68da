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

        def call(arguments)
          name, settings = expect(arguments, 1..2, "process")
          tell(Inputs.running(name), ask(Inputs.running(name), pairs(settings.to_s)))
        end

        private

        def ask(process, settings) = process.start(**settings)

        # {interval: "64k"} of "interval=64k".
        def pairs(text)
          text.split(",").to_h do |setting|
            key, value = setting.split("=", 2)
            raise UsageError, "#{setting}: a setting is NAME=VALUE, such as interval=64k" unless value

            [key.to_sym, value]
          end
        end

        def tell(process, said)
          malloc = said[:malloc] || {}
          text = said[:sampling] ? "one sample per #{said[:interval]} bytes" : "not sampled"
          text += ", every #{said[:every]} s a profile" if said[:sampling] && said[:every]
          puts "#{process.name}: #{text}"
          puts "malloc is not sampled: #{malloc["missing"]}" if said[:sampling] && malloc["missing"]
        end
      end
    end
  end
end
