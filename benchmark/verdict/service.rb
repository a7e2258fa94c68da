# frozen_string_literal: true

require "zlib"
require_relative "draws"

# A service that never ran: what a process holds in memory at each interval between two profiles, and what the GC counts of it.
# A shape (healthy.rb, leaking.rb) sets the load first, and then adds what holds memory:
#
#   Service.leak(:cache_and_leak) { fill(share(0.05, 1), scale(2, 12)); leak }
#
# Units: an interval is the time between two profiles, and a unit of work is what a usual interval allocates.
class Service
  Point = Struct.new(:seconds, :work, :size) # rubocop:disable Lint/StructNewOverride -- as HeapSample::Verdict::Point

  # One series with its truth.
  #   truth   :leak, :healthy, or :slows: it grows for ever, but ever more slowly; growth is certain, and both words are right
  #   held    bytes that the service holds at each point, without the noise of a count
  #   leaked  bytes that have leaked by each point
  #   begins  index of the first point at which the leak has begun and the warm-up is over
  #   known   index of the first point at which the counts show that a healthy service does not leak; nil: after the end
  #   floor   growth in bytes below which no verdict is wanted (0.5% of RSS)
  Series = Struct.new(:shape, :truth, :points, :held, :leaked, :begins, :known, :floor, :rss, keyword_init: true)

  SHAPES = { healthy: {}, leak: {}, slows: {} }
  MIB = 1 << 20
  IDLE = 0.1    # of the usual work: an interval with less adds no point
  FLOOR = 0.005 # of RSS

  class << self
    SHAPES.each_key { |truth| define_method(truth) { |name, &block| SHAPES.fetch(truth)[name] = block } }

    def truth_of(name) = SHAPES.keys.find { |truth| SHAPES[truth].key?(name) } or raise ArgumentError, "no shape #{name}: see healthy.rb and leaking.rb"
    def names = SHAPES.values.flat_map(&:keys)

    # The series of a shape, a seed and a number of points (nil: drawn from 20 – 400, one in fifty has 2,000).
    # A shape has other random numbers than its neighbour.
    def series(name, seed, points: nil) = new(Draws.new(Zlib.crc32("#{name} #{seed}")), points).series(name, truth_of(name))
  end

  def initialize(draws, points)
    @draws = draws
    @length = points || (chance?(0.02) ? 2000 : scale(20, 401).to_i)
    @base = scale(8, 600) * MIB
    @rss = @base * between(1.2, 2)
    @held = Array.new(@length, @base)
    @leaked = Array.new(@length, 0.0)
    @swings = Array.new(@length, 0.0)
    @load = uneven(1)
    @sigma = @base * scale(1e-5, 1e-2)
    @spikes = chance?(0.25) ? between(0.02, 0.2) : 0
    @known = 0
    @begins = 0
  end

  def series(name, truth)
    instance_exec(&SHAPES.fetch(truth).fetch(name))
    kept = counted
    index = ->(interval) { kept.index { |i, _| i >= interval } }
    Series.new(shape: name, truth: truth, points: kept.map(&:last), held: kept.map { |i, _| held(i) }, leaked: kept.map { |i, _| @leaked[i] }, rss: @rss, floor: FLOOR * @rss,
      begins: index.(@begins), known: truth == :healthy && @known ? index.(@known) : nil)
  end

  private

  %i[between scale chance? one_of exponential pareto normal poisson].each { |name| define_method(name) { |*args| @draws.public_send(name, *args) } }

  # --- the load: work of each interval

  def load(&block) = @load = uneven(&block)

  def uneven(level = nil)
    jitter = @jitter ||= scale(0.02, 0.25)
    Array.new(@length) { |i| (level || yield(i)) * [1 + jitter * normal, 0.1].max }
  end

  # Work done by the end of each interval.
  def work
    @work = nil unless @work_of.equal?(@load)
    @work_of = @load
    @work ||= @load.each_with_object([]) { |done, sums| sums << (sums.last || 0) + done }
  end

  # A day of so many intervals, from almost nothing to 1.
  def day(period, phase = between(0, 1), night: 0.03) = ->(i) { (1 - Math.cos(2 * Math::PI * (i / period + phase))) / 2 + night }

  # --- what holds memory

  def hold = work.each_with_index { |done, i| @held[i] += yield(done, i) }
  # What is live and will be freed: waves, queues, sawteeth.
  def swing = work.each_with_index { |done, i| @swings[i] += yield(done, i) }
  # What is never given back.
  def lose = work.each_with_index { |done, i| @leaked[i] += yield(done, i) }
  def held(interval) = @held[interval] + @leaked[interval] + @swings[interval]
  def share(least, most) = @base * scale(least, most)

  # A cache that fills evenly.
  def fill(bytes, full, from: 0) = hold { |done, _| bytes * ((done - from) / full).clamp(0, 1) }
  # A cache, or lazy code, that fills ever more slowly.
  def settle(bytes, tau, from: 0) = hold { |done, _| bytes * (1 - Math.exp(-[done - from, 0].max / tau)) }

  # Bytes a unit of work that leak; it is even unless a block says how much. Noise is in proportion to it.
  def leak(rate = self.rate)
    return lose { |done, _| rate * done } unless block_given?

    sum = 0.0
    lose { |_, i| sum += rate * yield(i) }
  end

  def rate(noise = usual_noise)
    (@base * scale(7e-4, 3e-2)).tap { |rate| @sigma = rate * noise }
  end

  # Noise of a point by the growth of a point. Of 45 real leaks the median had 0.03, and nine in ten less than 0.34.
  def usual_noise = chance?(0.2) ? scale(0.3, 1.5) : scale(0.001, 0.34)

  # --- the truth

  # From this interval on the counts show that it does not leak.
  def known(interval) = @known = interval && interval.ceil
  # A cache that was full after so many intervals has been level for a quarter of the time by then.
  def full(interval) = known(interval * 4 / 3.0)
  def never_known = known(nil)
  def begins(interval) = @begins = interval.ceil

  # --- what the GC counts

  # [interval, point] for each interval with a new major GC. Some have none, and idle ones add no point.
  def counted
    every = one_of([2, 10, 60])
    slow = chance?(0.2) ? 0.4 : 0.03
    missing = chance?(0.25) ? between(0.05, 0.4) : 0.01
    starved = chance?(0.1) ? between(0, @length).then { |from| from..from + between(3, 8) } : nil
    objects = scale(500, 2e6)
    boot = chance?(0.3) ? scale(2, 20) : 1
    noise = noises
    seconds = done = pending = 0.0
    @load.each_with_index.filter_map do |load, i|
      seconds += every * [1 + slow * normal, 0.3].max
      done += load * (i.zero? ? boot : 1)
      pending += load
      next if pending < IDLE || (i.positive? && (chance?(missing) || starved&.cover?(i)))

      pending = 0
      [i, Point.new(seconds, (done * objects).round, [held(i) + noise[i], 0].max.round)]
    end
  end

  # What is live at a major GC: some of it remembers the interval before, and a large request comes now and then.
  def noises
    memory = Math.exp(-1 / scale(0.2, 1.5))
    state = 0.0
    Array.new(@length) do
      state = memory * state + Math.sqrt(1 - memory**2) * normal
      @sigma * (0.6 * state + 0.8 * normal + (chance?(@spikes) ? 8 * exponential : 0))
    end
  end
end

require_relative "healthy"
require_relative "leaking"
