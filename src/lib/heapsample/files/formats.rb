# frozen_string_literal: true

module HeapSample
  # The formats that a profile can be saved in.  Each has the name that its files end with:
  # "pb.gz" and "pb" (pprof), "folded" (folded stacks of live bytes), "json" (speedscope), "html" (a page
  # for a browser).  The same code writes a live profile and one that was read from a file.
  module Formats
    NAMES = %w[pb.gz pb folded json html].freeze
    # The default for an IO.
    DEFAULT = NAMES.first

    module_function

    # call-seq:
    #   save(profile, path, format: nil, **options) -> Integer
    #   save(profile, io, format: "pb.gz", **options) -> Integer
    #
    # Writes a HeapSample::Profile: to a file, whole or not at all, in the format that its name ends with;
    # or to what has a method write.  +options+ of a page: +root+, +title+.  Returns the number of bytes.
    # Raises ArgumentError if the name of a file has no known ending, and if there is no such format.
    def save(profile, target, format: nil, **options)
      format = of(target, format)
      return target.write(encode(profile, format, **options)) unless path?(target)

      AtomicFile.write(target) { |io| write(profile, format, io, **options) }
    end

    # The name of a format: as given, or by the ending of a path.
    def of(target, format = nil)
      return format.to_s.delete_prefix(".").tap { |name| refuse("no such format: #{format.inspect}; use one of #{NAMES.join(", ")}") unless NAMES.include?(name) } if format
      return DEFAULT unless path?(target)

      path = File.path(target)
      NAMES.find { |name| path.end_with?(".#{name}") } || refuse("a profile's path must end with #{endings}: #{path}")
    end

    # The bytes that #write writes, a binary String.
    def encode(profile, format, **options)
      require "stringio"
      StringIO.new("".b).tap { |io| write(profile, format, io, **options) }.string
    end

    # Writes a profile to an IO, piece by piece.
    def write(profile, format, io, **options)
      return io.write(View.new(profile, **options).to_s) if format == "html"
      raise ArgumentError, "unknown keyword: #{options.keys.first.inspect}; only html takes options" unless options.empty?

      case format
      when "pb" then PprofWriter.new(profile).write(io)
      when "pb.gz" then gzip(io) { |packed| PprofWriter.new(profile).write(packed) }
      when "folded" then FoldedWriter.new(profile).write(io)
      when "json" then SpeedscopeWriter.new(profile).write(io)
      end
    end

    # Is it the path of a file, and not an IO?
    def path?(target)
      target.is_a?(String) || (target.respond_to?(:to_path) && !target.respond_to?(:fileno)) || !target.respond_to?(:write)
    end

    # ".pb.gz, .pb, .folded, .json or .html"
    def endings
      *others, last = NAMES.map { |name| ".#{name}" }
      "#{others.join(", ")} or #{last}"
    end

    def refuse(message) = raise(ArgumentError, message)

    # No time and no name in its header: equal profiles are equal files.
    def gzip(io)
      require "zlib"
      packed = Zlib::GzipWriter.new(io)
      packed.mtime = 0
      yield packed
      packed.finish
    end

    private_class_method :refuse, :gzip
  end
end
