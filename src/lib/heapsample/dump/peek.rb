# frozen_string_literal: true

module HeapSample
  module Dump
    # A file whose beginning can be looked at before it is read.
    class Peek
      BYTES = 1 << 18

      # +file+: an IO, or a ForeignFile::Reader.
      def initialize(file)
        @file = file
        @beginning = @pending = file.read(BYTES).to_s.b
      end

      # Its first bytes.
      attr_reader :beginning

      # Bytes of a file; what is known of an IO.
      def size = @file.respond_to?(:size) ? @file.size : @beginning.bytesize

      # When the file was written last; now for an IO.
      def time = @file.respond_to?(:time) ? @file.time : Time.now

      # As IO#read; with a +length+ it may return more once.
      def read(length = nil)
        pending, @pending = @pending, nil
        return length ? @file.read(length) : @file.read unless pending
        return pending.empty? ? nil : pending if length

        pending << @file.read.to_s
      end
    end
  end
end
