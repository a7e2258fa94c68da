# frozen_string_literal: true

module HeapSample
  module Tool
    # What is watched, written look by look to a pipe or a file.
    class WatchLines
      # +text+ makes a text of a look.
      def initialize(watching, io, &text)
        @watching = watching
        @io = io
        @text = text
      end

      def run(every:, seconds: nil)
        began = now
        loop do
          @io.write(@text.call(@watching.look))
          @io.flush
          break if seconds && now - began + every > seconds

          sleep every
        end
      end

      private

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
