# frozen_string_literal: true

module HeapSample
  module Tool
    # The option --fail-on: the exit status of a diagnosis, for scripts.
    class FailOn
      # Not the status of an error.
      STATUS = 3
      # Words of the option, and the verdicts that each names.
      WORDS = {"leak" => %i[confirmed likely], "confirmed" => %i[confirmed], "grows" => %i[grows], "unknown" => %i[unknown]}.freeze

      # +words+: an Array of keys of WORDS.
      def initialize(words)
        @words = words
      end

      # The exit status of a Diagnosis; each process that matches is named on stderr.
      def status(diagnosis)
        matched = diagnosis.select { |process| word_of(process) }
        matched.each { |process| Message.print("process #{process.info.process_id || "?"}: #{process.state} (--fail-on #{word_of(process)})") }
        matched.empty? ? CLI::DONE : STATUS
      end

      private

      def word_of(process) = @words.find { |word| WORDS.fetch(word).include?(process.state) }
    end
  end
end
