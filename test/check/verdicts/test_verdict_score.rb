# frozen_string_literal: true

require_relative "../../testing"
require_relative "../../../benchmark/verdict/score"
require_relative "../../../benchmark/verdict/curves"

# The series with known truth (benchmark/verdict) are what they say, and a verdict is scored fairly: by rules that always
# say the same, and by series that are made by hand.
class VerdictScoreTest < Test
  # A rule that says these states one after the other, and then the last one for ever.
  class Says
    attr_reader :state

    def initialize(*states) = @states = states
    def add(_point) = @state = @states.size > 1 ? @states.shift : @states.first
    def guard = nil
  end

  def every_series(points) = Service.names.map { |name| Service.series(name, 5, points: points) }

  # sizes: of the points; leaked: bytes that have leaked by each
  def series(truth, sizes, leaked: sizes.map { 0.0 }, known: nil, begins: 0, floor: 1)
    points = sizes.each_with_index.map { |size, i| Service::Point.new(2.0 * i, 100 * i, size) }
    Service::Series.new(shape: :made, truth: truth, points: points, held: sizes, leaked: leaked, begins: begins, known: known, floor: floor, rss: 200.0 * floor)
  end

  def healthy(states, sizes: [100] * states.size, known: 3) = Trial.new(series(:healthy, sizes, known: known), Says.new(*states))
  def leaking(states, **options) = Trial.new(series(:leak, Array.new(states.size) { |i| 1000 + 10.0 * i }, leaked: Array.new(states.size) { |i| 10.0 * i }, **options), Says.new(*states))

  test "a seed makes the same series again, and another seed another one" do
    one, same, other = [7, 7, 8].map { |seed| Service.series(:cache_fills, seed).points }
    assert_equal one, same
    refute_equal one, other
  end

  test "time and work of each series go on, and no size is negative" do
    every_series(40).each do |series|
      assert_operator series.points.size, :>=, 8, series.shape
      series.points.each_cons(2) do |before, after|
        assert_operator before.seconds, :<, after.seconds, series.shape
        assert_operator before.work, :<=, after.work, series.shape
      end
      assert(series.points.all? { |point| point.size >= 0 }, series.shape)
    end
  end

  test "nothing leaks in a healthy service, and each leak leaks in both halves after its beginning" do
    every_series(200).each do |series|
      next assert_equal(0, series.leaked.max, series.shape) if series.truth == :healthy

      leaked = series.leaked.drop(series.begins)
      assert_operator leaked[leaked.size / 2], :>, leaked.first, series.shape
      assert_operator leaked.last, :>, leaked[leaked.size / 2], series.shape
    end
  end

  test "what fills is level once that can be known" do
    %i[warms_up warms_up_slowly cache_fills two_caches log_to_a_bound cache_by_bytes ttl lazy_routes].each do |name|
      series = Service.series(name, 3, points: 400)
      after = series.held.drop(series.known)
      assert_in_delta after.max, after.min, 0.35 * (series.held.max - series.held.min), name
    end
  end

  test "lengths are 20 to 400 points, and now and then 2,000" do
    sizes = Array.new(150) { |seed| Service.series(:level, seed).points.size }
    assert_operator sizes.min, :<, 40
    assert(sizes.all? { |size| size <= 400 || size > 1000 })
    assert_operator sizes.max, :>, 200
  end

  test "an alarm is early until the truth can be known, then wrong, and new if it was not kept" do
    figures = ->(trial) { %i[early? wrong? anew?].map { |name| trial.public_send(name) } }
    assert_equal [true, false, false], figures.(healthy(%i[early leak leak ended ended]))
    assert_equal [true, true, false], figures.(healthy(%i[early leak leak leak ended]))
    assert_equal [false, true, true], figures.(healthy(%i[early level level level leak]))
    assert_equal [true, false, false], figures.(healthy(%i[leak leak leak leak leak], known: nil))
  end

  test "an early alarm has to end within twenty points" do
    assert_predicate healthy([:leak] * 30), :outlived?
    refute_predicate healthy([*[:leak] * 22, *[:ended] * 8]), :outlived?
    refute_predicate healthy([:leak] * 20), :judged_after?
  end

  test "growth is false where the end holds no more than the beginning, and true where it does" do
    states = %i[early early early grows grows grows grows grows]
    assert_predicate healthy(states), :false_growth?
    refute_predicate healthy(states, sizes: [1, 2, 3, 4, 5, 6, 7, 8]), :false_growth?
    refute_predicate healthy(%i[early level level level level]), :false_growth?
  end

  test "a leak is judged so many points after it began, if the series is long enough" do
    trial = leaking([*[:early] * 30, *[:grows] * 5, *[:leak] * 10], begins: 12)
    assert_equal [:grows, nil], [trial.after(20), trial.after(60)]
    assert_equal :leak, trial.after(25)
    assert_predicate trial, :found?
    refute_predicate trial, :taken_back?
    assert_predicate leaking(%i[leak ended ended]), :taken_back?
  end

  test "an all-clear is false where more leaks than would have been found" do
    # it leaks 10 a point, which counts as noise too: 200 * 10.5 / n**1.5 is less than 10 from 36 points on
    assert_equal (36..40).to_a, leaking([:level] * 40).false_all_clears
    assert_empty leaking([:level] * 40, floor: 10_000).false_all_clears
    assert_empty leaking([:grows] * 40).false_all_clears
  end

  test "a rule that always says leak finds each leak and is wrong about each healthy service" do
    score = VerdictScore.new(runs: 2, seed: 1, points: 24, shapes: %i[level warms_up even boots root]) { Says.new(:leak) }.run
    assert_equal [4, 4], %i[runs wrong].map { |name| score.all(:healthy).public_send(name) }
    assert_equal [100.0, 100.0], [score.all(:leak).share(:found), score.all(:leak).share(:leak20, :runs20)]
    assert_equal 2, score.all(:slows).runs
  end

  test "a rule that finds at a fixed point has this point on each curve, or none where runs are too short" do
    curves = Curves.new(runs: 4, seed: 1, most: 100) { Says.new(*[:early] * 29, :leak) }
    assert_equal [[30, 30, 17], [30, 30, 34]], curves.by_noise.values_at(0.3, 1).map { |point| [point.half, point.nearly_all, point.formula] }
    assert_nil curves.by_noise.fetch(100).half
  end
end
