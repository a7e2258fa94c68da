# frozen_string_literal: true

module HeapSample
  # The little of protobuf's wire format that a profile needs: a cursor over the
  # fields of one message.  Every read stays within the message or raises
  # Protobuf::Malformed.
  class Protobuf
    # The bytes are not what they should be; the message has the reason.
    class Malformed < StandardError
    end

    VARINT = 0
    FIXED64 = 1
    BYTES = 2
    FIXED32 = 5
    VARINT_BITS = 64
    # Of the longest number.
    BYTES_MAX = 10

    attr_reader :data
    # Where the next byte is read.
    attr_reader :position

    def initialize(data, from = 0, to = data.bytesize)
      @data = data
      @position = from
      @to = to
    end

    # Yields the number of each field and its value: an Integer, or for bytes
    # where they start and end.  Groups, which proto3 does not have, are errors.
    def each_field
      data = @data
      while (position = @position) < @to
        # Written out for tags and numbers of one byte, which most are.
        if (tag = data.getbyte(position)) < 0x80
          @position = position += 1
        else
          tag = varint
          position = @position
        end
        number = tag >> 3
        raise Malformed, "a field has the number 0" if number.zero?

        case tag & 7
        when VARINT
          if position < @to && (value = data.getbyte(position)) < 0x80
            @position = position + 1
          else
            value = varint
          end
          yield number, value, nil
        when BYTES
          from, to = span
          yield number, from, to
        when FIXED64 then skip(8)
        when FIXED32 then skip(4)
        else raise Malformed, "it is damaged, or another kind of file (a field has an unknown wire type)"
        end
      end
    end

    def varint
      value = shift = 0
      while @position < @to
        byte = @data.getbyte(@position)
        @position += 1
        return value | byte << shift if byte < 0x80

        value |= (byte & 0x7f) << shift
        shift += 7
        raise Malformed, "a number has more than #{VARINT_BITS} bits" if shift >= VARINT_BITS
      end
      raise Malformed, "it ends inside a number"
    end

    # Reads a length, passes over so many bytes, and returns where they start
    # and end.
    def span
      length = varint
      from = @position
      skip(length)
      [from, @position]
    end

    # A number as it is written: a new binary String.
    def self.encode(value)
      bytes = "".b
      while value >= 0x80
        bytes << (value & 0x7f | 0x80)
        value >>= 7
      end
      bytes << value
    end

    # The numbers packed into the bytes between +from+ and +to+: +most+ of them, and perhaps a few more.
    def self.packed(data, from, to, most = nil)
      values = []
      value = shift = 0
      to = [to, from + (most + 1) * BYTES_MAX].min if most
      data.byteslice(from, to - from).each_byte do |byte|
        if byte < 0x80
          values << (value | byte << shift)
          value = shift = 0
        else
          value |= (byte & 0x7f) << shift
          shift += 7
          raise Malformed, "a number has more than #{VARINT_BITS} bits" if shift >= VARINT_BITS
        end
      end
      raise Malformed, "it ends inside a number" unless shift.zero?

      values
    end

    private

    def skip(length)
      raise Malformed, "it ends inside a field" if length > @to - @position

      @position += length
    end
  end
end
