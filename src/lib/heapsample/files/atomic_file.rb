# frozen_string_literal: true

module HeapSample
  # Writes a file that is either whole or not there, as the sampler itself does:
  # under another name in the same folder, to the disk, then renamed; mode 0600,
  # and no link that someone planted is followed.
  module AtomicFile
    module_function

    # call-seq:
    #   write(path, data) -> Integer
    #   write(path) { |io| … } -> Integer
    #
    # Replaces what is at +path+ by +data+, or by what the block writes; a FIFO of this
    # user, or a device, is written straight.  Returns the number of bytes; raises
    # SystemCallError: Errno::EEXIST for another user's FIFO.
    def write(path, data = nil, &block)
      path = File.path(path)
      type = File.ftype(path) if File.exist?(path) || File.symlink?(path)
      raise Errno::EISDIR, path if type == "directory" || path.end_with?("/")
      raise Errno::EINVAL, path if %w[socket blockSpecial].include?(type)
      return write_straight(path, data, &block) if %w[fifo characterSpecial].include?(type)

      rename_into(path, data, &block)
    end

    def write_straight(path, data, &block)
      File.open(path, File::WRONLY | File::NONBLOCK | File::NOFOLLOW) do |file|
        raise Errno::EEXIST, path if file.stat.pipe? && !file.stat.owned?

        fill(file, data, &block)
      end
    end

    def rename_into(path, data, &block)
      size = nil
      temporary = nil
      file = begin
        temporary = File.join(File.dirname(path), format(".heapsample-%d-%016x.tmp", Process.pid, Random.rand(1 << 64)))
        File.open(temporary, File::WRONLY | File::CREAT | File::EXCL, 0o600)
      rescue Errno::EEXIST
        retry
      end
      begin
        file.chmod(0o600)                       # whatever the umask
        size = fill(file, data, &block)
        file.fsync
      ensure
        file.close
      end
      File.rename(temporary, path)
      temporary = nil
      size
    ensure
      File.unlink(temporary) if file && temporary
    end

    def fill(file, data)
      file.binmode
      return file.write(data) if data

      yield file
      file.flush
      file.stat.size
    end

    private_class_method :write_straight, :rename_into, :fill
  end
end
