# frozen_string_literal: true

# How often the diagnosis names the right line, on simulated series: of lines that leak, fill, pile up and pass. That the
# process leaks is decided by exact counts, see test_verdict.rb. The series are seeded, so that a run repeats; SLOW=1 makes
# many of each kind.

require_relative "../../testing"
require_relative "series_simulator"

class SimulationsTest < Test
  include HeapSample

  SERIES = SLOW ? 100 : 5
  HEALTHY = SLOW ? 1000 : 20
  PROFILES = 32

  def simulator(seed, **options) = SeriesSimulator.new(seed: seed, profiles: PROFILES, **options)

  # Lines that are named, the largest first.
  def named(diagnosis) = diagnosis.findings.flat_map { |finding| finding.lines.map { |line| line.place.path } }

  # The lines that come and go in a web application that does not leak.
  def busy(simulator, lines = 20)
    lines.times do |index|
      name = "h#{index}"
      size = 10 * (8**simulator.random.rand)
      case index % 5
      when 0 then simulator.turnover(name, size, 0.02 * (5**simulator.random.rand))
      when 1 then simulator.sawtooth(name, size)
      when 2 then simulator.queue(name, size, wait: 0.03)
      when 3 then simulator.leak(name, size, to: 0.2)
      else simulator.churn(name, size)
      end
    end
    simulator
  end

  # In so many of SERIES, each of other lines too, the block's line "L" is named; and in so many it is the first.
  def named_in(seed, **options)
    all = Array.new(SERIES) do |index|
      simulator = busy(simulator((seed * 100_000) + index, **options))
      yield simulator
      named(simulator.series.diagnosis)
    end
    note "named in #{all.count { |names| names.include?("L") }}, first in #{all.count { |names| names.first == "L" }} of #{SERIES}"
    [all.count { |names| names.include?("L") }, all.count { |names| names.first == "L" }]
  end

  def self.found(name, seed, **options, &block)
    test("found: #{name}", missing: ONCE) { named_in(seed, **options, &block).then { |any, first| assert(any >= 0.9 * SERIES && first >= 0.75 * SERIES, "#{any}, #{first} of #{SERIES}") } }
  end

  def self.not_named(name, seed, **options, &block)
    test("not named: #{name}", missing: ONCE) { named_in(seed, **options, &block).then { |any, _| assert(any <= 0.25 * SERIES, "in #{any} of #{SERIES}") } }
  end

  found("a leak of 200 samples", 1) { |sim| sim.leak("L", 200) }
  found("a leak of malloc", 19) { |sim| sim.leak("L", 200).malloced("L") }
  found("a leak that is larger than another", 3) { |sim| sim.leak("L", 300).leak("M", 120) }
  not_named("a cache that is full and turns over", 35) { |sim| sim.leak("M", 200).turnover("L", 200, 0.04) }
  not_named("a sawtooth that major GCs cut", 39) { |sim| sim.leak("M", 200).sawtooth("L", 300) }
  not_named("what only passes", 40) { |sim| sim.leak("M", 200).churn("L", 300) }
  not_named("a warm-up", 42) { |sim| sim.leak("M", 200).leak("L", 300, to: 0.2) }

  test "two leaks are both named, and their bytes are right", missing: ONCE do
    wrong = (1..4 * SERIES).reject do |seed|
      diagnosis = busy(simulator(seed)).leak("L", 200).leak("M", 120).series.diagnosis
      sizes = diagnosis.findings.to_h { |finding| [finding.line.place.path, finding.interval] }
      share = diagnosis.lines.seconds / (SeriesSimulator::HOURS * 3600.0)
      {"L" => 200, "M" => 120}.all? { |name, samples| sizes[name]&.then { |low, high| (samples * SeriesSimulator::BYTES * share).between?(low * 0.8, high * 1.2) } }
    end
    note "wrong in #{wrong.size} of #{4 * SERIES}: #{wrong}"
    assert(wrong.size <= 0.15 * 4 * SERIES, wrong.inspect)
  end

  # Such a server has thirty lines that step, fill, pile up and pass, and sizes as large as in any leak: far worse than
  # the programs of test/zoo.
  test "of simulated healthy servers few are called leaking", missing: ONCE do
    wrong = (1..HEALTHY).select { |seed| simulator(seed).healthy.series.diagnosis.leak? }
    note "#{wrong.size} of #{HEALTHY} healthy series: #{wrong}"
    assert(wrong.size <= 0.1 * HEALTHY, wrong.inspect)
  end
end
