# frozen_string_literal: true

# The rule for one series of exact sizes: its test of ranks, its guards, and what it does with time in which no work is done.

require_relative "../../testing"
require "heapsample"

class VerdictTest < Test
  include HeapSample

  SERIES = SLOW ? 2000 : 150
  POINTS = 48
  # The rule without one of its guards.
  WITHOUT = {
    small: Class.new(Verdict) { def floor = 0 },
    few: Class.new(Verdict) { def uneven(curve) = super.then { |guard| guard unless guard == :few } },
    # Even a smooth series that grows ever faster has waves.
    late: Class.new(Verdict) { def uneven(curve) = super.then { |guard| guard unless guard == :late }; def trend(_) = Float::INFINITY },
    slows: Class.new(Verdict) { def uneven(curve) = super.then { |guard| guard unless guard == :slows } },
    back: Class.new(Verdict) { def back?(_) = false },
    steps: Class.new(Verdict) { def steps?(_) = false },
    waves: Class.new(Verdict) { def trend(_) = Float::INFINITY },
    load: Class.new(Verdict) { def load_explains?(_) = false }
  }.freeze

  # A point each minute, after the same work.
  def points(sizes, from: 0, every: 60.0, work: 1000)
    sizes.each_with_index.map { |size, index| Verdict::Point.new((from + index) * every, (from + index) * work, size) }
  end

  def verdict(points, floor: 10.0, rule: Verdict) = rule.of(points, floor: floor)
  def line(count, from: 1000, step: 100) = Array.new(count) { |index| from + (index * step) }

  # [state, guard] whenever they change.
  def states(points)
    verdict = Verdict.new(floor: 10.0)
    points.map { |point| verdict.add(point).then { [verdict.state, verdict.guard] } }.chunk { |one| one }.map(&:first)
  end

  # --- ranks ---

  # Numbers of one level, with noise of a distribution.
  NOISE = {
    normal: ->(random) { Math.sqrt(-2 * Math.log(1 - random.rand)) * Math.cos(2 * Math::PI * random.rand) },
    exponential: ->(random) { -Math.log(1 - random.rand) },
    "spikes and ties": ->(random) { random.rand < 0.1 ? 100 : random.rand(3) }
  }.freeze

  NOISE.each_with_index do |(name, noise), seed|
    test "the rank test is a martingale on exchangeable numbers: its mean is 1, and it rarely exceeds 1/a at any look (#{name})", missing: ONCE do
      random = Random.new(seed)
      runs = Array.new(12 * SERIES) { numbers = Array.new(16) { noise[random] }; (2..16).map { |count| Math.exp(RankTest.log(numbers.first(count))) } }
      # Of 4 numbers the values are bounded, so the mean of some thousand is within a tenth of 1. Ties make it smaller.
      mean = runs.sum { |values| values[2] } / runs.size
      note "mean #{mean.round(3)}"
      assert(mean.between?(name == :"spikes and ties" ? 0.5 : 0.9, 1.1), mean.to_s)
      [0.5, 0.1, 0.02].each do |a|
        share = runs.count { |values| values.max >= 1 / a } / runs.size.to_f
        assert(share <= a + (4 * Math.sqrt(a / runs.size)), "P(M >= #{1 / a}) is #{share}")
      end
    end
  end

  test "the mean of the rank test over all orders of five numbers is exactly 1" do
    all = (1..5).to_a.permutation.map { |order| Math.exp(RankTest.log(order)) }
    assert_close(1.0, all.sum / all.size)
  end

  test "the rank test takes 32 numbers, and names the limit for more; of one number it knows nothing" do
    assert(RankTest.log((1..32).to_a) > 30)
    assert_equal([0.0, 0.0], [RankTest.log([]), RankTest.log([7])].map { |log| log.round(9) })
    assert_error(ArgumentError, /at most 32 numbers can be tested, not 33/) { RankTest.log((1..33).to_a) }
  end

  test "a level series is never said to grow, whatever its noise", missing: ONCE do
    grown = NOISE.values.each_with_index.flat_map do |noise, kind|
      (1..SERIES / 3).select do |seed|
        random = Random.new((kind * 10_000) + seed)
        rule = Verdict.new(floor: 0)
        points(Array.new(64) { 1000 + (100 * noise[random]) }).any? { |point| rule.add(point).then { rule.grows? } }
      end
    end
    assert_equal([], grown)
  end

  # --- states ---

  test "an even leak is early, then level, then it grows, and from 14 points on it is a leak" do
    assert_equal([[:early, nil], [:level, nil], [:grows, nil], [:leak, nil]], states(points(line(60))))
    assert_equal([[11, :early], [12, :level], [13, :grows], [14, :leak]], [11, 12, 13, 14].map { |count| [count, verdict(points(line(count))).state] })
  end

  test "a level series is level, and enough points are 17" do
    assert_equal([:level, nil, false], verdict(points([1000] * 16)).then { |rule| [rule.state, rule.guard, rule.enough?] })
    assert_equal([:level, nil, true], verdict(points([1000] * 17)).then { |rule| [rule.state, rule.guard, rule.enough?] })
  end

  # Each of these passes all guards but one.
  GUARDED = {
    small: Array.new(POINTS) { |index| 1000 + (0.1 * index) },
    late: Array.new(POINTS) { |index| 1000 + (1000 * ((index / 47.0)**2.4)) },
    slows: Array.new(POINTS) { |index| 1000 + (1000 * ((index / 47.0)**0.3)) },
    back: Array.new(POINTS) { |index| index < 8 ? 3000 : 1000 + (10 * index) },
    steps: Array.new(22) { |index| 1000 + (5 * index) + (1000 * [0.4, 0.62, 0.86].count { |step| index >= step * 22 }) },
    waves: Random.new(159).then { |random| wave = 0.0; Array.new(POINTS) { |index| 1000 + (10 * index) + (60 * (wave = (0.8 * wave) + random.rand - 0.5)) } }
  }.freeze

  GUARDED.each do |guard, sizes|
    test "the guard #{guard} keeps growth from being called a leak, and it alone" do
      assert_equal([guard == :small ? :level : :grows, guard], verdict(points(sizes)).then { |rule| [rule.state, rule.guard] })
      assert_equal(:leak, verdict(points(sizes), rule: WITHOUT.fetch(guard)).state)
    end
  end

  test "the guard load keeps memory that follows the work from being called a leak, and it alone" do
    done = 0.0
    busier = Array.new(POINTS) { |index| rate = 1000 * (1 + (2 * index / 47.0)); Verdict::Point.new(index * 60.0, done += rate, 1000 + rate) }
    assert_equal([:grows, :load], verdict(busier).then { |rule| [rule.state, rule.guard] })
    assert_equal(:leak, verdict(busier, rule: WITHOUT.fetch(:load)).state)
  end

  # As in a Rails process of a busy machine that grew by 80 MiB in 50 s, but had two major GCs in the second quarter.
  test "the guard few keeps growth from being called a leak where a quarter has no three points, and it alone" do
    sparse = [0, 2, 4, 8, 12, 18, 26, 37, 52, 57, 62, 67, 72, 77, 82, 87, 92, 96, 100].map { |minute| Verdict::Point.new(minute * 60.0, minute * 1000, 1000 + (10 * minute)) }
    assert_equal([:grows, :few], verdict(sparse).then { |rule| [rule.state, rule.guard] })
    assert_equal(:leak, verdict(sparse, rule: WITHOUT.fetch(:few)).state)
  end

  test "every guard has such a series" do
    assert_equal(Verdict::GUARDS.sort, [*GUARDED.keys, :few, :load].sort)
  end

  test "a cache that fills and stops is ended while work goes on, and stays so; growth above its peak grows again" do
    fills, full = line(21), [3000] * 200
    assert_equal([[:early, nil], [:level, nil], [:grows, nil], [:leak, nil], [:ended, nil]], states(points(fills + full)))
    again = states(points(fills + ([3000] * 30) + line(40, from: 3000) + line(200, from: 7000)))
    assert_equal([:early, :level, :grows, :leak, :ended, :grows, :leak], again.map(&:first).chunk { |one| one }.map(&:first))
    # What is full may breathe below its peak.
    assert_equal(:ended, states(points(fills + Array.new(200) { |index| 2900 + (50 * (index % 3)) })).last.first)
  end

  test "what ended has the growth, and the time, up to its peak, however long ago that was" do
    [20, 400].each do |after|
      rule = verdict(points(line(21) + ([3000] * after)))
      assert_equal([:ended, 3000], [rule.state, rule.size_after])
      assert(rule.grew.between?(1500, 2000) && rule.ended_at.between?(18 * 60, 20 * 60), "#{rule.grew} until #{rule.ended_at}")
      assert_close(rule.ended_at - rule.judged_from, rule.seconds)
      assert_close(rule.grew, rule.size_after - rule.size_before)
    end
    freed = verdict(points(line(21) + ([500] * 60)))
    assert_equal([:ended, true], [freed.state, freed.grew.between?(1500, 2000)])
  end

  test "growth is that of the rate in the time, at the ends of which it was measured" do
    rule = verdict(points(line(40)))
    rule.rate.each { |rate| assert_close(100 / 60.0, rate, 1e-6) }
    assert_close(rule.rate[1] * rule.seconds, rule.grew, 1e-6)
    assert_close(39 * 60 - rule.seconds, rule.judged_from)
    assert_equal([line(40).last, rule.grew], [rule.size_after, rule.size_after - rule.size_before])
  end

  # --- time without work ---

  test "200 idle points after a leak change nothing" do
    leak = points(line(30))
    before = verdict(leak)
    idle = Array.new(200) { |index| Verdict::Point.new(leak.last.seconds + ((index + 1) * 60), leak.last.work + index + 1, leak.last.size) }
    after = verdict(leak + idle)
    assert_equal([:leak, 30], [before.state, before.size])
    %i[state guard size evidence grew seconds rate].each { |name| same(before.public_send(name), after.public_send(name), name.to_s) }
  end

  # What comes after a leak of 30 points: a third of its work, and so much growth.
  def quieter(count, step: 0, noise: 0)
    random = Random.new(3)
    last = points(line(30)).last
    slow = (1..count).map { |index| Verdict::Point.new(last.seconds + (index * 60), last.work + (index * 300), last.size + (index * step) + (noise * random.rand)) }
    points(line(30)) + slow
  end

  test "a third of the work, without growth, ends a leak when it has become the usual work, though memory is noisy" do
    [0, 500].each do |noise|
      assert_equal([:leak, 58], verdict(quieter(28, noise: noise)).then { |rule| [rule.state, rule.size] })
      assert_equal([:ended, 70], verdict(quieter(40, noise: noise)).then { |rule| [rule.state, rule.size] })
    end
  end

  test "a leak that goes on with a third, a fifth or a tenth of the work does not end" do
    assert_equal([:leak, 230], verdict(quieter(200, step: 30)).then { |rule| [rule.state, rule.size] })
    [200, 101].each do |work|
      slow = (1..200).map { |index| Verdict::Point.new((29 + index) * 60.0, 29_000 + (index * work), 3900 + (index * work / 10.0)) }
      assert_equal([:leak, 230], verdict(points(line(30)) + slow).then { |rule| [rule.state, rule.size] })
    end
  end

  test "after a night without work the first minutes of work count at once" do
    leak = points(line(30))
    night = 12 * 3600
    work = 10.times.map { |index| Verdict::Point.new(leak.last.seconds + night + (index * 60), leak.last.work + 1000 + (index * 1000), leak.last.size + (index * 100)) }
    idle = (1..night / 600).map { |index| Verdict::Point.new(leak.last.seconds + (index * 600) - 1, leak.last.work + index, leak.last.size) }
    assert_equal(30 + 10, verdict(leak + idle + work).size)
    assert_equal(:leak, verdict(leak + idle + work).state)
  end

  test "a clock that is set back leaves points out, and nothing else" do
    all = points(line(40))
    back = all.first(20) + all.drop(20).map { |point| Verdict::Point.new(point.seconds - 300, point.work, point.size) }
    rule = verdict(back)
    assert_equal([:leak, 35], [rule.state, rule.size])
    assert(rule.points.each_cons(2).all? { |one, other| other.seconds > one.seconds && other.work >= one.work })
  end

  # --- a function of the points ---

  # Noise, growth, steps and pauses, by a seed.
  def random_points(seed, count)
    random = Random.new(seed)
    seconds = work = 0.0
    size, slope, noise = 1000.0, random.rand(4) * 20, random.rand(3) * 50
    Array.new(count) do
      seconds += 30 + random.rand(60)
      work += random.rand < 0.1 ? 1 : 500 + random.rand(1000)
      size += random.rand < 0.05 ? random.rand(500) - 250 : slope
      slope = random.rand(4) * 20 if random.rand < 0.03
      Verdict::Point.new(seconds, work, size + (noise * random.rand))
    end
  end

  test "the verdict is a function of the points: all at once as one by one, up to 64 points" do
    (1..SERIES / 5).each do |seed|
      all = random_points(seed, 64)
      count = 12 + (seed % 53)
      single = Verdict.new(floor: 10.0)
      all.first(count).each { |point| single.add(point) }
      whole = verdict(all.first(count))
      %i[state guard evidence size grew].each { |name| same(single.public_send(name), whole.public_send(name), "#{name}, seed #{seed}") }
    end
  end

  def same(one, other, message) = one.nil? ? assert_nil(other, message) : assert_equal(one, other, message)

  test "a leak is never called level, early or growing again: it ends, or stays a leak" do
    allowed = {early: %i[level grows leak], level: %i[grows leak], grows: %i[level leak], leak: %i[ended], ended: %i[grows leak]}
    (1..SERIES).each do |seed|
      rule = Verdict.new(floor: 10.0)
      seen = random_points(seed, 120).map { |point| rule.add(point).then { rule.state } }.chunk { |one| one }.map(&:first)
      wrong = seen.each_cons(2).reject { |one, other| allowed.fetch(one).include?(other) }
      # What ended and grows above its peak may come back below it.
      assert_equal([], seen.include?(:ended) ? wrong - [%i[grows ended]] : wrong, "seed #{seed}: #{seen}")
      assert(rule.evidence.nil? || rule.evidence.finite?)
    end
  end

  test "a leak of the rate that would have been found is found, 19 times in 20" do
    found = (1..SERIES).count do |seed|
      random = Random.new(seed)
      noise = Array.new(40) { 1000 + (100 * NOISE[:normal][random]) }
      detectable = verdict(points(noise), floor: 0).detectable * 60
      verdict(points(noise.each_with_index.map { |size, index| size + (detectable * index) }), floor: 0).grows?
    end
    note "found #{found} of #{SERIES}"
    assert(found >= 0.9 * SERIES, found.to_s)
  end
end
