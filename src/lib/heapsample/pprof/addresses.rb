# frozen_string_literal: true

module HeapSample
  # Addresses of frames that are no native code, in a file: readers of pprof take two frames with one address for one.
  # An address is a hash of the function and the line, so it is the same in all processes:
  #
  #     2**62 + (hash of label and path) * 2**21 + line
  #
  # The hash is a polynomial modulo a prime that keeps every step below 2**62, of which the low 32 bits count.
  class PprofAddresses
    # No machine has code there.
    START = 1 << 62
    LIMIT = START + (1 << 53)
    LINES = 1 << 21
    FUNCTIONS = 1 << 32
    PRIME = (1 << 53) - 111
    BASE = 257

    def initialize
      @taken = {}
      @hashes = {}
    end

    # call-seq:
    #   take(label, path, line) -> Integer
    #
    # The address of one more frame; where another frame has it, the address of the next hash.
    def take(label, path, line)
      hash = @hashes[[label, path]] ||= add("\0#{path}", add(label, 0)) % FUNCTIONS
      offset = hash * LINES + line % LINES
      offset = (offset + LINES) % (LIMIT - START) while @taken[offset]
      @taken[offset] = true
      START + offset
    end

    private

    def add(text, hash) = text.each_byte.inject(hash) { |sum, byte| (sum * BASE + byte + 1) % PRIME }
  end
end
