# frozen_string_literal: true

module HeapSample
  # Numbers by the column, packed for the HTML view: a JSON object, which says
  # where each column is, and behind it the columns.
  #
  # A column of whole numbers is packed as BER integers (7 bits a byte, the
  # highest first), any other as 64-bit floating point, little-endian.  gzip,
  # which comes after, makes little of repeated values.
  class ViewColumns
    WHOLE = "w"
    FLOAT = "E"

    def initialize
      @bytes = "".b
    end

    # Appends a column of numbers, none of them negative if all are whole.
    # Returns what the page needs to find it.
    def add(numbers)
      whole = numbers.all?(Integer)
      packed = numbers.pack(whole ? "w*" : "E*")
      at = @bytes.bytesize
      @bytes << packed
      [whole ? WHOLE : FLOAT, numbers.size, at, packed.bytesize]
    end

    # Appends columns by name.
    def add_all(columns)
      columns.transform_values { |numbers| add(numbers) }
    end

    # The object +head+ and all columns, with gzip.
    def pack(head)
      require "json"
      require "zlib"
      json = JSON.generate(head)
      Zlib.gzip([json.bytesize].pack("V") + json.b + @bytes, level: GZIP_LEVEL)
    end

    GZIP_LEVEL = 6
    private_constant :GZIP_LEVEL
  end
end
