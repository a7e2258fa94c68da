# Healthy: documents of 1 MB to 12 MB are uploaded in parts of 64 KB, three at a time, for some seconds each; a part is
# appended to the document's buffer, and at the end it is checked and dropped.
#
# kind: steady
# also: bloat
# settles: 8
require_relative "../load"
require "digest"

PART = Random.new(4).bytes(65_536).freeze

class Upload
  def initialize(size) = (@size, @buffer = size, String.new(capacity: 65_536))

  def receive
    @buffer << PART
    return false if @buffer.bytesize < @size

    Digest::MD5.hexdigest(@buffer.byteslice(0, 200_000))
    true
  end
end

SIZES = Random.new(6)
UPLOADS = Array.new(3) { Upload.new(1_000_000) }
Load.run(60) { |n| UPLOADS[n % 3] = Upload.new(1_000_000 + SIZES.rand(11_000_000)) if UPLOADS[n % 3].receive }
