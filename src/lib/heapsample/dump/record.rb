# frozen_string_literal: true

require "json"

module HeapSample
  module Dump
    # One line of a dump as data.
    #
    # The json that Ruby has is fast enough: 4 µs for a line, less than half of what reading takes.  Gems of simdjson have had no release
    # for long, and oj saves 1 µs.
    #
    # The references of a long line are cut out before the rest is parsed, and stay text: a String for each would need much memory.  The text
    # that begins them cannot be inside a string of JSON, where its quotes would have backslashes.
    module Record
      REFERENCES = ', "references":["'
      SEPARATOR = '", "'
      # Bytes of a long line.
      LONG = 1 << 12
      # Bytes of a text.
      TEXT_MAX = PprofReader::TEXT_MAX

      module_function

      # call-seq:
      #   Record.parse(line) -> [Hash, String or Array or nil] or nil
      #
      # The fields of a line, and its references as text; nil of a line that is not one of a dump.
      def parse(line)
        return unless line.getbyte(0) == 123

        if line.bytesize > LONG && (from = line.index(REFERENCES)) && (to = line.index("]", from))
          references = line.byteslice(from, to - from)
          line = line.byteslice(0, from) << line.byteslice(to + 1, line.bytesize)
        end
        fields = JSON.parse(line.force_encoding(Encoding::UTF_8))
        [fields, references || fields["references"]] if fields["type"]
      rescue JSON::ParserError, EncodingError, NoMethodError, TypeError
        nil
      end

      # Yields each address of what #parse returns as references.
      def each_address(references)
        case references
        when String then references.byteslice(REFERENCES.bytesize..).split(SEPARATOR).each { |text| yield text.hex }
        when Array then references.each { |text| yield text.hex if text.is_a?(String) }
        end
      end
    end
  end
end
