# A gateway of a bank gets files in pieces and converts them to UTF-8. A character may be cut between two pieces, so
# each file has a converter (Encoding::Converter) in a table. The converter is removed with the last piece of its file.
# A sender that loses its connection begins again under a new number, and the old converter stays. Most of the memory
# is malloc'ed by the converters.
#
# kind: native
# also: leak
# keeper: @converters, GATEWAY, Gateway
# rate: 630000
require_relative "../load"

class Gateway
  def initialize
    @converters = {}
    @totals = Hash.new(0)
  end

  def receive(file, encoding, piece, last:)
    converter = @converters[file] ||= Encoding::Converter.new(encoding, "UTF-8", universal_newline: true) # LEAK KEEPER
    text = +""
    converter.primitive_convert(piece.dup, text, nil, nil, partial_input: !last) # LEAK
    @totals[encoding] += text.count("\n")
    @converters.delete(file) if last
    text
  end
end

ENCODINGS = %w[Shift_JIS EUC-JP ISO-2022-JP Windows-1251].freeze
TEXTS = ENCODINGS.to_h do |encoding|
  rows = Array.new(400) { |i| "#{encoding == "Windows-1251" ? "платеж" : "振込"} #{i};#{i * 7_919 % 90_000};EUR;#{i % 28 + 1}.11.2026\r\n" }
  [encoding, rows.join.encode(encoding).b]
end
PIECE = 1_501

def pieces(encoding) = TEXTS[encoding].unpack("a#{PIECE}" * (TEXTS[encoding].bytesize / PIECE))

GATEWAY = Gateway.new

Load.run(170) do |n|
  encoding = ENCODINGS[n % 4]
  parts = pieces(encoding).first(3)
  lost = n % 3 == 0 # after the second piece
  parts.each_with_index do |part, i|
    GATEWAY.receive(n, encoding, part, last: i == 2) unless lost && i == 2 # LEAK
  end
end
