# frozen_string_literal: true

module HeapSample
  # Opens files that another user may have put there.  The reader is often root: the opener never waits, follows no link
  # that another user could have made, and reads no more than the size of the file.
  module ForeignFile
    KINDS = {"directory" => "a folder", "fifo" => "a FIFO", "socket" => "a socket", "link" => "a link in a folder that other users may write to",
             "characterSpecial" => "a device", "blockSpecial" => "a device"}.freeze

    # Reads a file up to the size that it has when it is opened, also if it grows or has no end.
    class Reader
      attr_reader :size

      def initialize(file)
        @file = file
        @size = @left = file.size
      end

      # When it was written last.
      def time = @file.mtime

      # Could another user than root have written it?
      def foreign? = ![0, Process.euid].include?(@file.stat.uid)

      # May other users than its owner read or write it?
      def open_to_others? = @file.stat.mode & 0o077 != 0

      # As IO#read.
      def read(length = @left)
        return if @left.zero?

        @file.read([length, @left].min)&.tap { |text| @left -= text.bytesize }
      end
    end

    module_function

    # call-seq:
    #   ForeignFile.open(path) { |reader| … }
    #
    # Raises FormatError if it is no plain file, SystemCallError if it is not there or may not be read.
    def open(path)
      path = path.to_path if path.respond_to?(:to_path)
      raise FormatError, "#{Printable.text(path)}: the name contains a NUL byte" if path.include?("\0")

      # Looked at first: to open a device may start something.
      link = plain(path, File.lstat(path)) == :link
      File.open(path, File::RDONLY | File::NONBLOCK | File::NOCTTY | File::BINARY | (link ? 0 : File::NOFOLLOW)) do |file|
        plain(path, file.stat)
        yield Reader.new(file)
      end
    end

    # :link of one that is followed.
    def plain(path, stat)
      return plain(path, File.stat(path)) || :link if stat.symlink? && !shared?(File.dirname(path))
      return if stat.file?

      raise FormatError, "#{Printable.text(path)}: it is #{KINDS.fetch(stat.ftype, "something else")}, not a file"
    end

    # May another user than root make a link there?
    def shared?(folder)
      stat = File.stat(folder)
      ![0, Process.euid].include?(stat.uid) || stat.mode & 0o002 != 0 || (stat.mode & 0o020 != 0 && stat.gid != Process.egid)
    end

    private_class_method :plain, :shared?
  end
end
