# frozen_string_literal: true

module HeapSample
  module Tool
    # What the tool says of itself, on stderr: one line each, whatever is in the name of a file.
    module Message
      module_function

      def say(text)
        warn "heapsample: #{Layout.clean(text.dup.scrub("?").gsub(/[[:cntrl:]]+/, " ").strip)}"
      end
    end
  end
end
