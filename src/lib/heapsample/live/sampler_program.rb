# frozen_string_literal: true

module HeapSample
  # Is the program of a process a Ruby with the heap sampler?  The signal that opens its socket is sent to no other program:
  # its meaning there is unknown, and a program may handle every signal, as Go programs do.
  #
  # The executable or its libruby contains the greeting of the protocol.  Both are files that another user may
  # have made: only plain files are opened, without waiting, and no more is read of them than a Ruby has.
  class SamplerProgram
    MARK = "heap-sample/1 "
    PIECE = 1 << 20
    # Constants stand before what debuggers read, which may be long.
    FILE_MOST = 64 << 20
    # Of one user's files in which the mark is not; root's are not counted.
    USER_MOST = 512 << 20
    MAPS_MOST = 16 << 20
    LIBRARIES_MOST = 4
    LIBRARY = %r{^(\h+-\h+) .* (/.*libruby[^/\n]*)$}
    FLAGS = File::RDONLY | File::NONBLOCK | File::NOCTTY | File::BINARY

    class << self
      # call-seq:
      #   SamplerProgram.of?(folder) -> true, false or nil
      #
      # +folder+: the folder of the process in /proc.  nil: this user may not look.
      def of?(folder)
        user = File.stat(folder).uid
        marked?("#{folder}/exe", user) || libraries(folder).any? { |path| marked?(path, user) }
      rescue Errno::EACCES, Errno::EPERM
        nil
      rescue SystemCallError
        false
      end

      # Is the program of a process any Ruby, by the name of its executable or of a library that it has mapped?
      def ruby?(folder)
        File.basename(File.readlink("#{folder}/exe").delete_suffix(" (deleted)")).match?(/\Aruby[\d.]*\z/) || libraries(folder).any?
      rescue SystemCallError
        false
      end

      private

      # What is mapped, for root; else what has its path, in the process's own view of the file system.
      def libraries(folder)
        maps = File.binread("#{folder}/maps", MAPS_MOST).to_s
        maps.scan(LIBRARY).uniq(&:last).first(LIBRARIES_MOST).map do |range, path|
          File.exist?("#{folder}/map_files/#{range}") ? "#{folder}/map_files/#{range}" : "#{folder}/root#{path}"
        end
      end

      # A program is read once, however many processes run it.
      def marked?(path, user)
        return false unless File.stat(path).file?

        File.open(path, FLAGS) do |file|
          stat = file.stat
          known = (Ractor.current[:heap_sample_programs] ||= {})
          known.fetch([stat.dev, stat.ino, stat.mtime, stat.size]) { |id| known[id] = stat.file? && contains?(file, user) }
        end
      end

      def contains?(file, user)
        spent = (Ractor.current[:heap_sample_programs_spent] ||= Hash.new(0))
        piece = "".b
        until file.pos >= FILE_MOST || (user.positive? && spent[user] >= USER_MOST)
          return false unless file.read(PIECE, piece)
          return true if piece.include?(MARK)

          spent[user] += piece.bytesize
          file.seek(-MARK.bytesize, IO::SEEK_CUR) if piece.bytesize == PIECE
        end
        false
      end
    end
  end
end
