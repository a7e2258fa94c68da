# Large: an archive takes the log lines of many services. It has the manual of all services in memory. For each service
# and each slice of time it compresses the lines with a Zlib::GzipWriter into a StringIO. When a slice is over, its
# writers are finished and their bytes are sent off. The finished writers stay in the table of the writers, with their
# StringIO and its String.
#
# kind: leak
# keeper: @writers, ARCHIVE, Archive
# starts: 4
# rate: 3000000
require_relative "../load"
require "stringio"
require "zlib"

class SliceWriter
  attr_reader :service, :slice

  def initialize(service, slice)
    @service = service
    @slice = slice
    @buffer = StringIO.new(String.new(encoding: Encoding::BINARY)) # LEAK
    @gzip = Zlib::GzipWriter.new(@buffer, Zlib::BEST_SPEED)
  end

  def <<(line)
    @gzip << line # LEAK
  end

  def finish
    @gzip.finish # LEAK
    @buffer.rewind
    @buffer
  end
end

class Archive
  SECONDS_OF_A_SLICE = 4

  def initialize(bucket)
    @bucket = bucket
    @writers = {}
    @slice = slice_now
  end

  def write(service, line)
    roll if slice_now > @slice
    writer = (@writers[[service, @slice]] ||= SliceWriter.new(service, @slice)) # LEAK KEEPER
    writer << line # LEAK
  end

  private

  def slice_now = (Load.seconds / SECONDS_OF_A_SLICE).floor

  def roll
    @writers.each_value { |writer| @bucket.put("#{writer.service}/#{writer.slice}.gz", writer.finish) if writer.slice == @slice }
    @slice = slice_now
  end
end

# Where finished slices go: it reads them in parts, and counts them.
class Bucket
  attr_reader :bytes

  def initialize = @bytes = 0

  def put(_name, io)
    part = String.new(capacity: 65_536)
    @bytes += part.bytesize while io.read(65_536, part)
  end
end

Page = Struct.new(:service, :title, :paragraphs)
MANUAL = Array.new(22_000) do |i|
  paragraphs = Array.new(20) { |k| "#{k + 1}. #{"service #{i % 120} of the team #{i % 17} listens at the port #{i * 31 % 60_000}; " * 9}" }
  Page.new("service-#{i % 120}", "alarm #{i}", paragraphs)
end

ARCHIVE = Archive.new(Bucket.new)
RANDOM = Random.new(7)

def line(number)
  "#{1_700_000_000 + number} #{MANUAL[number % MANUAL.size].title} id=#{RANDOM.bytes(1_500).unpack1("H*")} took=#{number * 7_919 % 4_000}\n"
end

Load.run(900) { |n| ARCHIVE.write(MANUAL[n * 31 % MANUAL.size].service, line(n)) } # LEAK
