# frozen_string_literal: true

module HeapSample
  # Numbers by the column, packed for the HTML view: the length of a JSON object
  # in four bytes, the object, which lists where each column is, and behind it the
  # columns, each on a multiple of 8 bytes, little-endian.
  #
  # A column takes as few bytes a number as its largest one allows: one, two or
  # four for whole ones, else eight as floating point; one that is all zeros
  # takes none.  gzip, which follows, compresses repeated values well.
  class ViewColumns
    ALIGNMENT = 8
    # Below which number a whole one is packed how.
    FORMATS = {1 << 8 => "C", 1 << 16 => "S<", 1 << 32 => "L<"}.freeze
    FLOAT = "E"

    def initialize
      @bytes = "".b
    end

    # Appends a column of numbers, none of them negative if all are whole.
    # Returns its format, how many numbers it has, and where it is.
    def add(numbers)
      format = format_of(numbers)
      at = @bytes.bytesize
      @bytes << numbers.pack("#{format}*") if format
      @bytes << "\0" * (-@bytes.bytesize % ALIGNMENT)
      [format, numbers.size, at]
    end

    # Appends columns by name.
    def add_all(columns)
      columns.transform_values { |numbers| add(numbers) }
    end

    # The object +head+ and all columns, with gzip.
    def pack(head)
      require "json"
      require "zlib"
      json = JSON.generate(Printable.all(head)).b
      json << " " * (-(json.bytesize + LENGTH_BYTES) % ALIGNMENT)
      # Not by Zlib.gzip, which writes the time: equal profiles are equal pages.
      gzip = Zlib::Deflate.new(GZIP_LEVEL, GZIP_WINDOW)
      gzip << [json.bytesize].pack("V") << json
      gzip.deflate(@bytes, Zlib::FINISH)
    ensure
      gzip&.close
    end

    LENGTH_BYTES = 4
    GZIP_LEVEL = 4         # a third of the time that 6 takes, for a twelfth more
    # zlib's largest window, and a gzip header.
    GZIP_WINDOW = 15 + 16
    private_constant :LENGTH_BYTES, :GZIP_LEVEL, :GZIP_WINDOW

    private

    # nil if there is nothing to pack.
    def format_of(numbers)
      sum = numbers.sum         # a Float if any of them is one
      return if sum.zero? && numbers.all?(&:zero?)
      return FLOAT unless sum.is_a?(Integer)

      largest = numbers.max
      FORMATS.each { |limit, format| return format if largest < limit }
      FLOAT
    end
  end
end
