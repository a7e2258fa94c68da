# frozen_string_literal: true

module HeapSample
  # Reads a heap dump, as ObjectSpace.dump_all of Ruby 2.7 and later writes it: a line of JSON for each object.
  #
  # A dump is one more way to obtain a Profile.  Its rows are counted, not sampled: their variance is 0.  The lines are read
  # one at a time, so a dump of any size needs room for its rows alone; references and addresses are stored on demand.
  #
  # The contents of objects, which a dump has, are never stored or shown.
  module Dump
    autoload :Ages, "#{__dir__}/ages"
    autoload :ClassNames, "#{__dir__}/class_names"
    autoload :Duplicates, "#{__dir__}/duplicates"
    autoload :DuplicatesText, "#{__dir__}/duplicates_text"
    autoload :Dominators, "#{__dir__}/dominators"
    autoload :EdgeNames, "#{__dir__}/edge_names"
    autoload :Facts, "#{__dir__}/facts"
    autoload :Freed, "#{__dir__}/freed"
    autoload :Graph, "#{__dir__}/graph"
    autoload :Lines, "#{__dir__}/lines"
    autoload :Objects, "#{__dir__}/objects"
    autoload :PageIndex, "#{__dir__}/page_index"
    autoload :Peek, "#{__dir__}/peek"
    autoload :Reader, "#{__dir__}/reader"
    autoload :Record, "#{__dir__}/record"
    autoload :RetainedSizes, "#{__dir__}/retained_sizes"
    autoload :Retention, "#{__dir__}/retention"
    autoload :Rows, "#{__dir__}/rows"
    autoload :Search, "#{__dir__}/search"
    autoload :Trend, "#{__dir__}/trend"
    autoload :TrendText, "#{__dir__}/trend_text"
    autoload :Ways, "#{__dir__}/ways"

    # How it begins; a line of another program may come before.
    BEGINNING = /^[ \t]*\{[ \t]*"(?:address"[ \t]*:[ \t]*"0x|type"[ \t]*:[ \t]*"(?:ROOT|SHAPE)")/n
    # Bytes that are looked at, unpacked.
    PEEK = 1 << 14
    # Compressed bytes that are unpacked for that.
    PACKED_PEEK = 1 << 12

    # call-seq:
    #   Dump.begins?(bytes) -> true or false
    #
    # Is it the beginning of a dump, or of a compressed one?
    def self.begins?(bytes)
      bytes = unpacked(bytes) if bytes.start_with?(PprofReader::GZIP_MAGIC)
      BEGINNING.match?(bytes.byteslice(0, PEEK))
    end

    # call-seq:
    #   Dump.file?(path) -> true or false
    #
    # Is it a file that has a dump?
    def self.file?(path)
      File.file?(path) && ForeignFile.open(path) { |file| begins?(file.read([PEEK, file.size].min).to_s) }
    rescue SystemCallError, FormatError
      false
    end

    # call-seq:
    #   Dump.read(peek, name:, references: false) -> Hash
    #
    # The keyword arguments of Profile.new.  +references+: also what retains what, which takes longer.
    def self.read(peek, name:, references: false) = Reader.new(peek, name, references: references).read

    def self.unpacked(bytes)
      require "zlib"
      inflater = Zlib::Inflate.new(Zlib::MAX_WBITS + PprofReader::GZIP_ONLY)
      inflater.inflate(bytes.byteslice(0, PACKED_PEEK))
    rescue Zlib::Error
      ""
    ensure
      inflater&.reset
      inflater&.close
    end
    private_class_method :unpacked
  end
end
