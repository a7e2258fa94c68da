# frozen_string_literal: true

# How a process grows, from accounts that are made up: what is alive and what is waste over
# time, with noise that lasts from one to the next, in SHAPES seeded series each.

require "json"
require_relative "../../testing"
require_relative "series_simulator"

class ShapeTest < Test
  include HeapSample

  SHAPE_MIB = 1024 * 1024
  SHAPES = SLOW ? 100 : 2
  STEADY = %i[steady none].freeze
  FRAGMENTS = %i[fragmentation none].freeze
  GROWS = %i[leak unknown].freeze
  SHAPE_START = 1_767_225_600 * 1_000_000_000

  # Yields time from 0 to 1; the block gives MiB alive and MiB of waste.
  def accounts(count: 60, seconds: 3600, noise: 1.0, seed: 1)
    random = Random.new(seed)
    drift = 0.0
    Series.new(Array.new(count) do |index|
      live, waste = yield index / (count - 1.0)
      drift = 0.6 * drift + 4 * noise * (random.rand - 0.5)
      parts = {"slots_live" => 0.6 * (live + drift), "malloc_live" => 0.4 * (live + drift), "slots_free" => 0.5 * waste,
               "malloc_waste" => 0.5 * waste, "code_and_files" => 20}.transform_values { |size| (size * SHAPE_MIB).to_i }
      meta = {"process_start" => "a", "session" => 1, "process_id" => 1, "started_ns" => SHAPE_START,
              "taken_ns" => SHAPE_START + (seconds * (index + 1) * 1e9 / count).to_i, "account" => parts.merge("rss" => parts.values.sum)}
      Profile.new(meta: meta, texts: [""], stacks: nil, rows: [])
    end)
  end

  # +right+: the kind and grade, or several that are right; in all but one in ten series.
  def self.shaped(name, *right, **options, &block)
    test "#{name}: #{right.first.join(", grade ")}" do
      verdicts = Array.new(SHAPES) { |seed| accounts(**options, seed: seed, &block).shape.verdict.values_at(:kind, :grade) }
      wrong = verdicts - right
      note "#{verdicts.tally.map { |verdict, count| "#{verdict.join(", grade ")} #{count}" }.join("; ")}"
      assert(wrong.size <= SHAPES / 10, wrong.inspect)
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

  # What a line of a profile adds is judged by GCs; then a line is a leak.
  test "what survives major GCs, in each part of the time: a leak" do
    shape = SeriesSimulator.new(seed: 1).leak("L", 200).churn("M", 20).series.shape
    assert_equal(%i[leak likely], shape.verdict.values_at(:kind, :grade))
    assert(shape.parts.find { |part| part.name == :live }.grew > 0.8 * shape.whole.grew)
  end

  test "the text has the figures, the parts and the verdict of the diagnosis" do
    series = accounts { |x| [100 + 60 * x, 10] }
    text = series.shape(width: 200).to_s
    [/^Shape: process 1, 60 profiles/, /^RSS    [▁-█]+  \d+\.\d MiB – \d+\.\d MiB$/, /^live /, /^waste /,
     /^- RSS: \+\d+\.\d MiB in 4[78] min( \d+ s)? \(\+\d+\.\d MiB\/hour\); in the quarters of the time \+1\d\.\d MiB, /,
     /^- live memory: \+\d+\.\d MiB; in /].each { |part| assert(part.match?(text), "no #{part} in\n#{text}") }
    assert_equal(series.diagnosis(width: 200).text.sentence, text.lines(chomp: true).last)
  end

  test "no line is wider than the terminal, no warning reaches it as it is, and data have Symbols for keys" do
    series = accounts { |x| [100 + 60 * x, 10 + 20 * x] }
    series.warnings << "/tmp/x\e[31m\n.pb.gz: left out"
    short = accounts(count: 5) { |x| [100 + 100 * x, 10] }
    [40, 60, 80, 120].product([series, short]) do |width, one|
      text = one.shape(width: width).to_s
      assert(text.lines.all? { |line| line.chomp.length <= width }, "#{width}:\n#{text}")
      refute(HeapSample::Printable::UNSAFE.match?(text.delete("\n")), text.inspect)
    end
    assert(series.shape(width: 80).to_s.match?(/^RSS +[▁-█]{40,}/))
    keys = ->(data) { data.is_a?(Hash) ? data.keys + data.values.flat_map(&keys) : data.is_a?(Array) ? data.flat_map(&keys) : [] }
    [series, short].each { |one| assert_equal([Symbol], keys[one.shape.to_h].map(&:class).uniq) }
  end

  test "too little is too short to say" do
    shape = accounts(count: 5) { |x| [100 + 100 * x, 10] }.shape
    assert_equal([nil, :unknown], shape.verdict.values_at(:kind, :grade))
    assert(shape.to_s.include?("Cannot tell: this process has 5 profiles, and 6 are needed."), shape.to_s)
    assert_equal("#<HeapSample::Shape cannot tell>", shape.inspect)
    none = accounts(count: 20) { [1, 1] }
    none.infos.each { |info| info.values.delete("account") }
    assert(none.shape(width: 200).to_s.include?("The profiles have no account of the process"), none.shape.to_s)
  end

  test "figures are ready for JSON and a plot" do
    shape = accounts { |x| [100 + 60 * x, 10] }.shape
    hash = JSON.parse(JSON.generate(shape.to_h))
    assert_equal(%w[leak unknown], hash["verdict"].values_at("kind", "grade"))
    assert_equal([60] * 2, %w[seconds rss_bytes].map { |name| hash[name].size })
    assert_equal(hash["rss_bytes"].last, %w[live waste other].sum { |name| hash["parts_bytes"][name].last })
    assert(hash["growth"]["rss"]["bytes"] > 40 * SHAPE_MIB && hash["growth"]["rss"]["quarters"].size == 4, hash["growth"].inspect)
  end
end
