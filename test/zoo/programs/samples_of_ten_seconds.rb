# Healthy: a monitor keeps the samples of the last ten seconds of each sensor in a ring, one ring of 600 samples for each of 300
# sensors. The rings are full after ten seconds.
#
# kind: steady
# also: bloat
# settles: 11
require_relative "../load"

Sample = Struct.new(:at, :value, :text)

class Ring
  def initialize(size) = (@samples, @next = Array.new(size), 0)

  def add(sample)
    @samples[@next] = sample
    @next = (@next + 1) % @samples.size
  end

  def mean = @samples.compact.then { |some| some.sum(&:value) / some.size }
end

RINGS = Array.new(300) { Ring.new(600) }
Load.run(60) do |n|
  RINGS.each_with_index { |ring, i| ring.add(Sample.new(Load.seconds, n * i % 97, "sensor #{i}: #{n * i % 97} of 100 at number #{n}, measured by device #{i % 40} of the plant".ljust(300))) }
  RINGS[n % RINGS.size].mean
end
