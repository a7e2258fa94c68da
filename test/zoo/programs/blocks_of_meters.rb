# Large: a store of measured values keeps the values of 18,000 meters in sealed blocks, and reads those of the last days at the start. Blocks
# should go after a week, but the week is counted in milliseconds and the age of a block in seconds.
#
# kind: leak
# keeper: @sealed, METERS
# starts: 6
# rate: 1300000
require_relative "../load"

class Meter
  SAMPLES = 48
  WEEK = 7 * 24 * 3_600 * 1_000

  def initialize(number)
    @number = number
    @sealed = []
    @times = []
    @values = []
  end

  def restore(blocks) = @sealed.concat(blocks)

  def add(time, value)
    @times << time
    @values << value
    seal if @times.size == SAMPLES
  end

  # Mean and largest value of eight minutes each, of the last blocks.
  def curve
    values = @sealed.last(7).flat_map { |block| block.unpack("NNg*").drop(2).each_slice(6).map { |slice| [slice.sum / slice.size, slice.max] } }
    values.map { |mean, max| format("%.1f/%.1f", mean, max) }.join(" ")
  end

  private

  def seal
    @sealed << [@number, @times.first, *@values, *@times.map(&:to_f)].pack("NNg*") # LEAK KEEPER
    @sealed.shift while @sealed.first.unpack1("@4N") < @times.first - WEEK
    @times.clear
    @values.clear
  end
end

NOW = 1_700_000_000
PAST = Array.new(50) { |i| Array.new(2 * Meter::SAMPLES) { |sample| (i * sample % 97) * 1.5 }.pack("g*") }
METERS = Array.new(18_000) { |i| Meter.new(i).tap { |meter| meter.restore(PAST.first(45).map { |block| [i, NOW].pack("NN") << block }) } }

Load.run(2_300) do |n|
  meter = METERS[n * 7_919 % 18_000]
  Meter::SAMPLES.times { |i| meter.add(NOW + (n / 100) + i, (n * i % 230) + 0.5) } # LEAK
  meter.curve
end
