# frozen_string_literal: true

module HeapSample
  module Tool
    # What the tool says of itself, on stderr: one line each, whatever is in the name of a file.
    module Message
      module_function

      def say(text)
        warn "heapsample: #{Printable.text(Printable.utf8(text).gsub(/\s*\n\s*/, " ").strip)}"
      end
    end
  end
end
