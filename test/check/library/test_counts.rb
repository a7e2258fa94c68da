# frozen_string_literal: true

# Points of exact counts: from the rings of major GCs in profiles, from profiles, and of several processes together.

require_relative "../../testing"
require_relative "counted_series"

class CountsTest < Test
  include CountedSeries
  include HeapSample

  def counts(series) = Counts.of(series.infos)
  def sizes(counts, kind) = counts[kind].points.map(&:size)
  def mib(*sizes) = sizes.map { |size| (size * MIB).to_i / 40 * 40 }

  # A profile with these major GCs: [minute, MiB] each.
  def with_ring(minute, majors, **meta)
    ring = majors.map { |at, size| [(at * 600).round, Build::STARTED + (at * 60 * SECOND).to_i - SECOND, (at * WORK).to_i, (size * MIB).to_i, 30 * MIB] }
    Build.new(majors: ring, "taken_ns" => Build::STARTED + (minute * 60 * SECOND).to_i, "objects" => (minute * WORK).to_i, "reason" => "periodic", **meta).profile
  end

  test "each profile has a point: slots and malloc of its last major GC, mappings, threads and fibers" do
    all = counts(series(5) { |minute| {slots: minute, malloc: 2 * minute, mapped: 3 * minute, threads: minute, fibers: 5} })
    assert_equal(Counts::KINDS, all.all.map(&:kind))
    assert_equal(mib(1, 2, 3, 4, 5), sizes(all, :slots))
    assert_equal((1..5).map { |minute| 2 * minute * MIB }, sizes(all, :malloc))
    # Each has 10 MiB of code and files, and 0.2 MiB of stacks.
    assert_equal((1..5).map { |minute| ((10 + (3 * minute)) * MIB) + (0.2 * MIB).to_i }, sizes(all, :mapped))
    assert_equal([[1, 2, 3, 4, 5], [5] * 5], [sizes(all, :threads), sizes(all, :fibers)])
    point = all[:slots].points.last
    assert_equal([Build::STARTED / SECOND + 299, 5 * WORK], [point.seconds.round, point.work])
  end

  test "points are the union of the rings, each major GC once, in the order of GCs" do
    profiles = [with_ring(3, [[1, 1], [2, 2], [3, 3]]), with_ring(6, [[1, 1], [3, 3], [4, 4], [6, 6]]), with_ring(7, [[5, 5], [7, 7]])]
    assert_equal(mib(1, 2, 3, 4, 5, 6, 7), sizes(counts(Series.new(profiles)), :slots))
  end

  test "one profile alone has the points of its ring" do
    all = counts(Series.new([with_ring(64, (1..64).map { |minute| [minute, minute] })]))
    assert_equal(64, all.size)
    assert_equal(:leak, all[:slots].state)
  end

  test "major GCs count that are three quarters of the time between two profiles apart, and those that are kept stay so" do
    often = ->(*minutes) { with_ring(minutes.last, (1..minutes.last * 10).map { |tenth| [tenth / 10.0, tenth] }) }
    all = counts(Series.new((1..5).map { |minute| often[minute] }))
    assert_equal([48], all[:slots].points.each_cons(2).map { |one, other| (other.seconds - one.seconds).round }.uniq)
    fewer = counts(Series.new((1..4).map { |minute| often[minute] }))
    assert_equal(all[:slots].points.first(fewer.size), fewer[:slots].points)
  end

  test "profiles of every hour have a point a minute, and of every second one in two" do
    hours = Series.new([60, 120, 180].map { |minute| with_ring(minute, (1..minute).map { |at| [at, at] }) })
    gaps = counts(hours)[:slots].points.each_cons(2).map { |one, other| (other.seconds - one.seconds).round }
    assert_equal([60, 120], gaps.uniq.sort)
    seconds = Series.new((1..40).map { |second| with_ring(second / 60.0, (1..second).map { |at| [at / 60.0, at] }) })
    assert(counts(seconds).size.between?(19, 21), counts(seconds).size.to_s)
  end

  test "the newest 32 points stay, and of the older ones at most 96 with a common stride" do
    [100, 128, 129, 500, 2000].each do |count|
      points = counts(Series.new([with_ring(count, (1..count).map { |minute| [minute, minute] })]))[:slots].points
      minutes = points.map { |point| ((point.work / WORK) + 0.01).floor }
      assert(points.size <= 128, points.size.to_s)
      newest = minutes.last(32)
      assert_equal([1], newest.each_cons(2).map { |one, other| other - one }.uniq, "of #{count}")
      strides = minutes[0..-33].each_cons(2).map { |one, other| other - one }.uniq
      assert(strides.size == 1 && (strides.first & (strides.first - 1)).zero?, "of #{count}: #{strides}")
      assert_equal([1, count], minutes.values_at(0, -1))
      assert(points.size > 64 || count < 64, points.size.to_s)
    end
  end

  test "the profile at exit is no point, nor are the major GCs after the last profile before it" do
    closing = with_ring(6, [[5, 5], [5.5, 5.5], [6, 1]], "reason" => "exit", "alive" => alive(1, 0))
    with_exit = counts(Series.new([*(1..5).map { |minute| with_ring(minute, [[minute, minute]], "alive" => alive(100, 0)) }, closing]))
    assert_equal([mib(1, 2, 3, 4, 5), [100] * 5], [sizes(with_exit, :slots), sizes(with_exit, :threads)])
    # A program that wrote no other profile has that one alone.
    assert_equal(mib(5, 1), sizes(counts(Series.new([closing])), :slots).values_at(0, -1))
  end

  test "what is not known has no point: profiles without majors, without malloc, without counts of threads, of an older version" do
    none = counts(series(20, majors: false) { {threads: 3} })
    assert_equal([%i[mapped threads fibers], 0], [none.all.map(&:kind), none.size])
    older = counts(series(20, majors: nil, "objects" => nil, "reason" => nil) { {} })
    assert_equal([[], 0], [older.all, older.size])
    without = counts(series(20) { |minute| {slots: 20 + minute, malloc: nil} })
    assert_equal(%i[slots mapped], without.all.map(&:kind))
    some = counts(series(20) { |minute| {malloc: (30 if minute > 12)} })
    assert_equal([20, 8, 8], [some[:slots].points.size, some[:malloc].points.size, some.size])
  end

  test "growth worth a word is a share of RSS, and 20 threads or a fifth of them" do
    floors = counts(series(20) { {threads: 10} }).all.to_h { |count| [count.kind, count.verdict.floor] }
    rss = series(1) { {} }.infos.last.account.rss
    assert_equal([0.005 * rss, 0.005 * rss, 20], floors.values_at(:slots, :malloc, :threads))
    assert_equal(200.0, counts(series(20) { {threads: 1000} })[:threads].verdict.floor)
  end

  test "major GCs of the parent, before the fork, are no points" do
    forced = {"limit_ppm" => 0, "gcs" => 0, "gc_ns" => 0, "walks" => 0, "walk_ns" => 0, "longest_stop_ns" => 0, "of_ns" => 210 * SECOND, "last" => "none"}
    child = Series.new([with_ring(6, (1..6).map { |minute| [minute, minute < 3 ? 100 : minute] }, "forced" => forced)])
    assert_equal(mib(3, 4, 5, 6), sizes(counts(child), :slots))
  end

  # --- several processes ---

  def sum(*all) = Counts.sum(all.map { |series| counts(series) })

  test "sizes and work of several processes add up at the times of their points" do
    both = sum(leaking(20, pid: 1), leaking(20, pid: 2))
    assert_equal((1..20).map { |minute| 2 * mib(20 + minute).first }, sizes(both, :slots).map(&:round))
    assert_equal((1..20).map { |minute| 2 * WORK * minute }, both[:slots].points.map { |point| point.work.round })
    assert_equal(2 * series(20) { |minute| {slots: 20 + minute} }.infos.last.account.rss, both.rss)
  end

  test "between two points of a process its size is on the line between them" do
    rare = Series.new([2, 4, 6, 8].map { |minute| with_ring(minute, (1..minute / 2).map { |at| [2 * at, 4 * at] }) })
    often = Series.new((1..8).map { |minute| with_ring(minute, (1..minute).map { |at| [at, 10] }, "process_start" => "b") })
    assert_equal((2..8).map { |minute| 10 + (2 * minute) }, sizes(sum(rare, often), :slots).map { |size| (size / MIB).round })
  end

  test "processes that did not live together are not added up" do
    early, late = [0, 30].map { |from| Series.new((1..20).map { |minute| with_ring(from + minute, (1..minute).map { |at| [from + at, at] }, "process_start" => from.to_s) }) }
    assert_nil(sum(early, late))
    assert_nil(sum(leaking(20), leaking(1)))
    assert_nil(sum(leaking(20), series(20, majors: nil, "objects" => nil) { {} }))
    assert(sum(leaking(20), leaking(12)))
  end

  test "four workers that leak little each are a leak sooner together" do
    noise = ->(random) { series(20, pid: random.rand(1 << 30)) { |minute| {slots: 40 + (0.25 * minute) + (2 * random.rand)} } }
    workers = Array.new(4) { |seed| noise[Random.new(seed + 20)] }
    states = workers.map { |series| counts(series)[:slots].state }
    together = sum(*workers)[:slots]
    assert(together.verdict.evidence > workers.map { |series| counts(series)[:slots].verdict.evidence }.max, states.inspect)
    assert(together.verdict.grows?, together.verdict.evidence.to_s)
  end
end
