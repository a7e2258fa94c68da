# Healthy: a broker has the end of its log in memory, in 12 partitions. A partition consists of segments, and the oldest
# segment is dropped when the partition has more than 3.3 MB. The partitions get messages at different rates, so the
# last ones are full after two fifths of the run.
#
# kind: steady
# also: bloat
# settles: 26
require_relative "../load"

class Partition
  SEGMENT = 300_000
  MOST = 3_300_000
  Segment = Struct.new(:from, :bytes, :messages)

  def initialize
    @next = 0
    @segments = [Segment.new(0, 0, [])]
  end

  attr_reader :next

  def append(text)
    @segments << Segment.new(@next, 0, []) if @segments.last.bytes > SEGMENT
    @segments.shift if @segments.sum(&:bytes) > MOST
    @segments.last.bytes += text.bytesize
    @segments.last.messages << text
    @next += 1
  end

  # Some messages from an index on, or from the oldest one that is still there.
  def read(index, most)
    segment = @segments.reverse_each.find { |one| one.from <= index } || @segments.first
    segment.messages[[index - segment.from, 0].max, most] || []
  end
end

PARTITIONS = Array.new(12) { Partition.new }

# Three times as many for the first partitions as for the last ones.
PLACES = Array.new(12) { |i| [i] * (i < 4 ? 3 : (i < 8 ? 2 : 1)) }.flatten.freeze

Load.run(300) do |n|
  8.times do |i|
    number = (n * 8) + i
    text = "message #{number} of sender #{number * 7_919 % 90_000}: #{"the value was measured at the usual place, " * (24 + (number % 16))}"
    PARTITIONS[PLACES[number % PLACES.size]].append(text)
  end
  partition = PARTITIONS[n % 12]
  partition.read(partition.next - (n * 31 % 4_000), 12).map(&:upcase).join("\n")
end
