# Images are handed to a C library in memory of ffi; those whose upload failed stay in a list.
#
# kind: native
# tuned: yes
# also: leak
# keeper: @failed
# gems: ffi 1.17.1
require_relative "../load"
require "ffi"

class Uploads
  def initialize = @failed = []

  def upload(number)
    image = FFI::MemoryPointer.new(:uint8, 60_000) # LEAK
    image.put_bytes(0, "i" * 60_000)
    number % 4 == 0 ? @failed << image : image.free # KEEPER
  end
end

uploads = Uploads.new
Load.run(20) { |n| uploads.upload(n) }
