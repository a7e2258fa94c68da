# frozen_string_literal: true

# An archive that keeps its documents in memory: a hundred of 10 MB. Behind each lies a slot of 40 bytes, which a
# sampler of slots meets once in thirteen thousand times.

class Archive
  def initialize
    @documents = []
  end

  def store(number, bytes)
    @documents << "#{number}".ljust(bytes, "0123456789")
  end

  def bytes = @documents.sum(&:bytesize)
  def size = @documents.size
end

count = Integer(ARGV.fetch(0, 100))
# With the NUL at its end, a size that malloc has: 10 MiB are set aside for each, not one byte more.
bytes = (10 << 20) - 1
archive = Archive.new
count.times { |number| archive.store(number, bytes) }
GC.start
puts "retained: #{archive.bytes} bytes in #{archive.size} strings"
