# frozen_string_literal: true

module HeapSample
  # Is the program of a process a Ruby with the heap sampler?  The signal that opens its socket is sent to no other: what one means by
  # it nobody knows, and a program may handle each signal that there is, as those of Go do.
  #
  # The executable says so, or its libruby: the greeting of the protocol stands in it.
  class SamplerProgram
    MARK = "heap-sample/1 "
    PIECE = 1 << 20

    class << self
      # call-seq:
      #   SamplerProgram.of?(folder) -> true, false or nil
      #
      # +folder+: that of the process in /proc.  nil: this user may not look.
      def of?(folder)
        marked?("#{folder}/exe") || libraries(folder).any? { |path| marked?(path) }
      rescue Errno::EACCES, Errno::EPERM
        nil
      rescue SystemCallError
        false
      end

      private

      # In the process's own view of the file system.
      def libraries(folder)
        File.foreach("#{folder}/maps").filter_map { |line| line[%r{ (/.*libruby[^/]*)$}, 1] }.uniq.map { |path| "#{folder}/root#{path}" }
      end

      # A program is read once, however many processes run it.
      def marked?(path)
        stat = File.stat(path)
        known = (Ractor.current[:heap_sample_programs] ||= {})
        known.fetch([stat.dev, stat.ino, stat.mtime]) { |file| known[file] = contains?(path) }
      end

      def contains?(path)
        tail = "".b
        File.open(path, "rb") do |file|
          while (piece = file.read(PIECE))
            return true if (tail + piece).include?(MARK)

            tail = piece.byteslice(-[MARK.bytesize, piece.bytesize].min..)
          end
        end
        false
      end
    end
  end
end
