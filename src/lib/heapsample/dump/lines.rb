# frozen_string_literal: true

module HeapSample
  module Dump
    # The lines of a dump, compressed with gzip or not, one after the other.
    class Lines
      CHUNK = 1 << 18
      # Bytes of a line: an Array of four million objects.
      LINE_MAX = 1 << 26

      # How many lines are longer, and left out.
      attr_reader :long
      # Does the file end inside a line, or inside its compressed data?
      attr_reader :cut
      alias cut? cut

      # +peek+: a Peek.
      def initialize(peek, longest: LINE_MAX)
        @peek = peek
        @longest = longest
        @long = 0
        @cut = false
      end

      # Yields each line as binary text.  A last line without its end is yielded, too.
      def each(&block)
        rest = "".b
        pieces do |piece|
          stop = piece.rindex("\n")
          next rest = keep(rest, piece) unless stop

          whole = piece.byteslice(0, stop + 1)
          whole = first(rest, whole, &block) unless rest.nil? || rest.empty?
          whole = whole.byteslice((whole.index("\n") + 1)..) if rest.nil?
          whole.each_line(&block)
          rest = piece.byteslice(stop + 1, piece.bytesize)
        end
        return if rest.nil? || rest.strip.empty?

        @unended = true
        yield rest
      end

      # Is the line that was yielded last without its end?
      def unended? = @unended

      # The last line made no sense: it was cut off.
      def cut! = @cut = true

      private

      # The line that began in an earlier piece is yielded; returns the others.
      def first(rest, whole)
        stop = whole.index("\n") + 1
        yield rest << whole.byteslice(0, stop)
        whole.byteslice(stop, whole.bytesize)
      end

      # Part of a line; nil of one that is too long.
      def keep(rest, piece)
        return rest unless rest
        return rest << piece if rest.bytesize + piece.bytesize <= @longest

        @long += 1
        nil
      end

      def pieces(&block)
        return inflate(&block) if @peek.beginning.start_with?(PprofReader::GZIP_MAGIC)

        while (chunk = @peek.read(CHUNK))
          yield chunk
        end
      end

      # What is unpacked already is of use.
      def cut_in(inflater)
        @cut = true
        yield inflater.flush_next_out.b
      end

      def inflate(&block)
        require "zlib"
        inflater = Zlib::Inflate.new(Zlib::MAX_WBITS + PprofReader::GZIP_ONLY)
        while !inflater.finished? && (chunk = @peek.read(CHUNK))
          inflater.inflate(chunk, &block)
        end
        cut_in(inflater, &block) unless inflater.finished?
      rescue Zlib::Error
        cut_in(inflater, &block)
      ensure
        inflater&.reset
        inflater&.close
      end
    end
  end
end
