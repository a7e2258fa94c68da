# frozen_string_literal: true

module HeapSample
  module Tool
    # Messages of the command, on stderr: one line each, even if the name of a file has line breaks.
    module Message
      module_function

      def print(text)
        warn "heapsample: #{Printable.text(Printable.utf8(text).gsub(/\s*\n\s*/, " ").strip)}"
      end
    end
  end
end
