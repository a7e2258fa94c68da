# frozen_string_literal: true

require "tempfile"

module HeapSample
  module Tool
    # Files that are written whole or not at all.
    module Output
      module_function

      # call-seq:
      #   Output.write(path) { |io| … }
      #
      # Into a temporary file beside it, renamed when all is written; "-" and what
      # is no regular file are written straight.
      def write(path, &block)
        return straight($stdout, &block) if path == Inputs::STDIN
        return File.open(path, "wb") { |file| straight(file, &block) } if File.exist?(path) && !File.file?(path)

        replace(path, &block)
      rescue SystemCallError => e
        raise if e.is_a?(Errno::EPIPE)

        raise Failure, "#{path}: #{Inputs.reason(e)}"
      end

      def straight(io)
        io.binmode
        yield io
        io.flush
      end

      def replace(path)
        temporary = "#{path}.#{Process.pid}.tmp"
        File.open(temporary, File::WRONLY | File::CREAT | File::EXCL | File::BINARY, 0o600) do |file|
          yield file
          file.flush
          file.fsync
        end
        File.rename(temporary, path)
        temporary = nil
      ensure
        File.unlink(temporary) if temporary && File.exist?(temporary)
      end
    end
  end
end
