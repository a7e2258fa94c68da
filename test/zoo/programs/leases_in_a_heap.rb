# Healthy: a server lends addresses to 8,000 devices. Leases are in a binary heap, in the order of their ends. A device
# that renews its lease gets a new one, and the old one stays in the heap as stale. When more than half of the heap is
# stale, it is built again without the stale leases: a sawtooth of some eight seconds.
#
# kind: steady
# also: bloat
# settles: 17
require_relative "../load"

class Leases
  Lease = Struct.new(:device, :until, :options, :stale) do
    include Comparable

    def <=>(other) = self.until <=> other.until
  end

  def initialize
    @heap = []
    @newest = {}
    @stale = 0
  end

  def renew(device, till, options)
    if (old = @newest[device])
      old.stale = true
      @stale += 1
    end
    push(@newest[device] = Lease.new(device, till, options, false))
    rebuild if @stale > @heap.size / 2
  end

  # The lease that ends next.
  def next_one
    remove_first while @heap.any? && @heap.first.stale
    @heap.first
  end

  private

  # Without the stale leases. A sorted Array is a heap.
  def rebuild
    @heap = @heap.reject(&:stale).sort
    @stale = 0
  end

  def push(lease)
    place = @heap.size
    @heap << lease
    while place > 0 && @heap[place] < @heap[above = (place - 1) / 2]
      @heap[place], @heap[above] = @heap[above], @heap[place]
      place = above
    end
  end

  def remove_first
    @stale -= 1
    last = @heap.pop
    return if @heap.empty?

    @heap[0] = last
    place = 0
    while (below = smaller_below(place)) && @heap[below] < @heap[place]
      @heap[place], @heap[below] = @heap[below], @heap[place]
      place = below
    end
  end

  def smaller_below(place)
    left = (2 * place) + 1
    return if left >= @heap.size

    left + 1 < @heap.size && @heap[left + 1] < @heap[left] ? left + 1 : left
  end
end

LEASES = Leases.new

# A lease is for one to two hours, so none ends while the program runs.
Load.run(1_000) do |n|
  device = n % 8_000
  options = Array.new(12) { |i| "option #{i} of device #{device}: #{i * 31 % 97}.#{n % 250}.#{device % 250}.1, as its owner has asked for in the form" }
  LEASES.renew(device, Load.seconds + 3_600 + (device * 7_919 % 3_600), options)
  LEASES.next_one.device if n % 50 == 0
end
