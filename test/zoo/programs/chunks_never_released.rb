# Large: a server for backups has the newest files of its customers in memory, cut into chunks. Equal chunks are stored
# once, with the number of places that have them. A file is counted at a chunk as often as it has the chunk, but when
# the file is replaced, it is subtracted once. A chunk that occurred twice in a file never gets to zero.
#
# kind: leak
# keeper: @chunks, STORE, ChunkStore
# starts: 7
# rate: 1300000
require_relative "../load"
require "digest"

class ChunkStore
  SIZE = 1_600
  Chunk = Struct.new(:bytes, :places)

  def initialize
    @chunks = {}
    @files = {}
  end

  def put(path, text)
    digests = cut(text).map { |bytes| add(bytes) } # LEAK
    release(@files[path]) if @files.key?(path)
    @files[path] = digests
  end

  def get(path) = @files.fetch(path).map { |digest| @chunks.fetch(digest).bytes }.join

  private

  def cut(text) = text.unpack("a#{SIZE}" * (text.bytesize / SIZE)) # LEAK

  def add(bytes)
    digest = Digest::SHA1.digest(bytes)
    chunk = (@chunks[digest] ||= Chunk.new(bytes, 0)) # LEAK KEEPER
    chunk.places += 1
    digest
  end

  def release(digests)
    digests.uniq.each do |digest|
      chunk = @chunks.fetch(digest)
      chunk.places -= 1
      @chunks.delete(digest) if chunk.places.zero?
    end
  end
end

FILES = 30_000
STORE = ChunkStore.new

# A part of a file, as long as a chunk.
def part(file, version, place) = "file #{file}, version #{version}, part #{place}: #{"measured at the gate of the mill; " * 50}".byteslice(0, ChunkStore::SIZE)

# Every second file is a table that has its head again at its end.
def text(file, version)
  parts = Array.new(6) { |i| part(file, version, i) }
  parts[4, 2] = parts[0, 2] if file.even?
  parts.join
end

FILES.times { |i| STORE.put("customer-#{i % 900}/file-#{i}", text(i, 0)) }

Load.run(250) do |n|
  3.times do |i|
    file = ((n * 3) + i) * 7_919 % FILES
    STORE.put("customer-#{file % 900}/file-#{file}", text(file, n)) # LEAK
  end
  other = n * 31 % FILES
  STORE.get("customer-#{other % 900}/file-#{other}").bytesize
end
