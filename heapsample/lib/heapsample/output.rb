# frozen_string_literal: true

module HeapSample
  module Tool
    # What the user wants written, and where.
    module Output
      module_function

      # call-seq:
      #   Output.write(path) { |io| … }
      #
      # A file that is whole or not there; "-" is the standard output.
      def write(path, &block)
        return AtomicFile.write(path, &block) unless path == Inputs::STDIN

        $stdout.binmode
        yield $stdout
        $stdout.flush
      rescue SystemCallError => e
        raise if e.is_a?(Errno::EPIPE)

        raise Failure, "#{path}: #{Inputs.reason(e)}"
      end
    end
  end
end
