# frozen_string_literal: true

# How often the diagnosis is right on simulated series: of lines that leak, fill, pile up and pass, and of made-up accounts.
# The series are seeded, so that a run repeats; SLOW=1 makes many of each kind.

require_relative "../../testing"
require_relative "series_simulator"

class SimulationsTest < Test
  include HeapSample

  SERIES = SLOW ? 100 : 4
  HEALTHY = SLOW ? 1000 : 14

  def simulator(seed = 1, **options) = SeriesSimulator.new(seed: seed, **options)

  # Lines that are called leaks.
  def leaking(diagnosis)
    return [] unless diagnosis.leak?

    findings = diagnosis.shown_findings.select.with_index { |finding, index| finding.leaks? || index.zero? }
    findings.flat_map { |finding| finding.groups.map { |group| group.key.path } }
  end

  # In so many of SERIES, each of other lines too, the block's line "L" is called a leak.
  def named_in(seed, **options)
    count = SERIES.times.count do |index|
      simulator = simulator(seed * 100_000 + index, **options).healthy
      yield simulator
      leaking(simulator.series.diagnosis).include?("L")
    end
    note "called a leak in #{count} of #{SERIES}"
    count
  end

  def self.found(name, seed, **options, &block)
    test("found: #{name}", missing: ONCE) { named_in(seed, **options, &block).then { |count| assert(count >= 0.75 * SERIES, "in #{count} of #{SERIES}") } }
  end

  def self.no_leak(name, seed, **options, &block)
    test("no leak: #{name}", missing: ONCE) { named_in(seed, **options, &block).then { |count| assert(count <= 0.25 * SERIES, "in #{count} of #{SERIES}") } }
  end

  # Such a server has thirty lines that step, fill, pile up and pass, and sizes as large as those of any leak: far worse than
  # the programs of test/zoo.
  test "of simulated healthy servers few are called leaking", missing: ONCE do
    wrong = (1..HEALTHY).select { |seed| simulator(seed).healthy.series.diagnosis.leak? }
    note "#{wrong.size} of #{HEALTHY} healthy series: #{wrong}"
    assert(wrong.size <= 0.15 * HEALTHY, wrong.inspect)
  end

  found("a leak of 110 samples", 1) { |sim| sim.leak("L", 110) }
  found("110 samples of malloc", 19) { |sim| sim.leak("L", 110).malloced("L") }
  no_leak("a cache that filled for three quarters of the time", 32) { |sim| sim.leak("L", 300, to: 0.75) }
  no_leak("a cache that is full and turns over", 35) { |sim| sim.turnover("L", 300, 0.5) }
  no_leak("a step", 37) { |sim| sim.step("L", 500, 0.2 + 0.7 * sim.random.rand) }
  no_leak("three steps", 38) { |sim| 3.times { sim.step("L", 200, sim.random.rand) } }
  no_leak("a sawtooth that major GCs cut", 39) { |sim| sim.sawtooth("L", 300) }
  no_leak("a queue", 41) { |sim| sim.queue("L", 300) }
  no_leak("a tide", 42) { |sim| sim.tide("L", 300, 3) }

  test "what may be missed is what is found 19 times in 20" do
    diagnosis = simulator.churn("a", 20).series.diagnosis
    detectable = diagnosis.detectable * diagnosis.survivors.seconds / 3600 / SeriesSimulator::INTERVAL
    hits = (1..5 * SERIES).count { |seed| leaking(simulator(900_000 + seed).churn("a", 20).leak("L", detectable / 0.8).series.diagnosis).include?("L") }
    note "#{detectable.ceil} samples in the time that is judged: found in #{hits} of #{5 * SERIES}"
    assert(hits >= 0.85 * 5 * SERIES, "#{hits} of #{5 * SERIES}")
  end

  test "nothing leaks where the process does not grow" do
    profiles = simulator.leak("L", 200).profiles
    [[0, []], [2 << 20, ["L"]]].each do |each, lines|
      profiles.each_with_index { |profile, index| profile.meta["account"] = {"rss" => (50 << 20) + each * index, "slots_live" => (20 << 20) + each * index} }
      assert_equal(lines, leaking(Series.new(profiles).diagnosis))
    end
  end

  test "where no profile says how large the process was, what stays says it" do
    assert_equal(["L"], leaking(simulator.leak("L", 200).without_accounts.diagnosis))
    assert_equal([], leaking(simulator.churn("L", 200).without_accounts.diagnosis))
    text = simulator.leak("L", 200).without_accounts.diagnosis.to_s
    assert(text.start_with?("Diagnosis:") && text.include?("Leak (") && !text.include?("RSS"), text)
  end

  test "without major GCs nothing is called a leak, and what may be one is named" do
    diagnosis = simulator(majors: 0).leak("L", 300).series.diagnosis
    assert_equal([:unknown, ["L"]], [diagnosis.grade, diagnosis.findings.map { |finding| finding.line.path }])
    assert_equal([], leaking(simulator(majors: 0).churn("L", 300).series.diagnosis))
  end

  test "with a longer warm-up what came early is not judged" do
    series = simulator(3).leak("L", 300, to: 0.3).churn("M", 20).series
    early, late = [0, 0.5 * SeriesSimulator::HOURS * 3600].map { |warmup| series.diagnosis(warmup: warmup) }
    assert_equal([["L"], []], [early, late].map { |one| one.findings.map { |finding| finding.line.path } })
    assert_error(ArgumentError, /warmup must be a number of seconds, not "x"/) { series.diagnosis(warmup: "x") }
  end
end

# From accounts that are made up: what is alive and what is waste over time, with noise that lasts from one to the next.
class SimulatedAccountsTest < Test
  include HeapSample

  MIB = 1024 * 1024
  SERIES = SLOW ? 100 : 5
  STEADY = %i[steady none].freeze
  FRAGMENTS = %i[fragmentation none].freeze
  GROWS = %i[leak unknown].freeze
  START = 1_767_225_600 * 1_000_000_000

  # Yields time from 0 to 1; the block gives MiB alive and MiB of waste.
  def accounts(count: 60, seconds: 3600, noise: 1.0, seed: 1)
    random = Random.new(seed)
    drift = 0.0
    Series.new(Array.new(count) do |index|
      live, waste = yield index / (count - 1.0)
      drift = 0.6 * drift + 4 * noise * (random.rand - 0.5)
      parts = {"slots_live" => 0.6 * (live + drift), "malloc_live" => 0.4 * (live + drift), "slots_free" => 0.5 * waste,
               "malloc_waste" => 0.5 * waste, "code_and_files" => 20}.transform_values { |size| (size * MIB).to_i }
      meta = {"process_start" => "a", "session" => 1, "process_id" => 1, "started_ns" => START,
              "taken_ns" => START + (seconds * (index + 1) * 1e9 / count).to_i, "account" => parts.merge("rss" => parts.values.sum)}
      Profile.new(meta: meta, texts: [""], stacks: nil, rows: [])
    end)
  end

  # +right+: the kind and grade, or several that are right; in all but one in ten series, rounded up.
  def self.shaped(name, *right, **options, &block)
    test "#{name}: #{right.first.join(", grade ")}", missing: ONCE do
      verdicts = Array.new(SERIES) { |seed| accounts(**options, seed: seed, &block).diagnosis.then { |one| [one.kind, one.grade] } }
      wrong = verdicts - right
      note verdicts.tally.map { |verdict, count| "#{verdict.join(", grade ")} #{count}" }.join("; ")
      assert(wrong.size <= (SERIES / 10.0).ceil, wrong.inspect)
    end
  end

  shaped("nothing but noise", STEADY) { [100, 10] }
  shaped("a sawtooth", STEADY) { |x| [100 + 30 * (x * 7 % 1), 10] }
  shaped("a spike", STEADY) { |x| [100 + (x.between?(0.5, 0.53) ? 100 : 0), 10] }
  # No row shows what grows, and no GC has run: nobody can tell whether it is a leak.
  shaped("a line", GROWS) { |x| [100 + 60 * x, 10] }
  shaped("a line under a staircase of heap pages", GROWS) { |x| [100 + 60 * x, 10 + 60 * ((x * 8).ceil / 8.0 - x)] }
  shaped("waste that levels off", FRAGMENTS, STEADY) { |x| [100, 10 + 60 * (1 - Math.exp(-x / 0.12))] }
  shaped("waste that goes on", FRAGMENTS) { |x| [100, 10 + 60 * x] }
  shaped("a cache that fills", STEADY) { |x| [100 + 60 * (1 - Math.exp(-x / 0.12)), 10] }
  shaped("a day of a profile a minute", GROWS, count: 600, seconds: 36_000) { |x| [500 + 100 * x, 30] }
end
