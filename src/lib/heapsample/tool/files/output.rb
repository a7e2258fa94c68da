# frozen_string_literal: true

module HeapSample
  module Tool
    # What the user wants written, and where: never over what is read.
    module Output
      module_function

      # call-seq:
      #   Output.check(path, inputs)
      #
      # Before anything is read: raises UsageError if +path+ is one of +inputs+, by whatever
      # name, and Failure if its folder is not there.
      def check(path, inputs)
        stat = stat(path, $stdout)
        input = inputs.find { |one| same?(stat, stat(one, $stdin)) }
        which = input == path ? "an input" : "the same file as the input #{input}"
        raise UsageError, "#{path}: is #{which}; name another output" if input

        folder = File.dirname(path)
        raise Failure, "#{path}: no such folder: #{folder}" unless path == Inputs::STDIN || File.directory?(folder)
      end

      BINARY = %w[pb pb.gz].freeze

      # Binary output is useless on a screen, and can change the state of the terminal.
      def check_terminal(path, format)
        return unless path == Inputs::STDIN && $stdout.tty? && BINARY.include?(format)

        raise UsageError, "-: .#{format} cannot be shown on a terminal; add -o FILE, or use > or |"
      end

      def stat(path, stream)
        path == Inputs::STDIN ? stream.stat : File.stat(path)
      rescue SystemCallError
        nil
      end

      def same?(one, other)
        one && other && one.file? && [one.dev, one.ino] == [other.dev, other.ino]
      end

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
