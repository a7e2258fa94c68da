# frozen_string_literal: true

# How a process grows, from accounts that are made up: what is alive and what is waste over
# time, with noise that lasts from one to the next, in SERIES seeded series each.
require "heap_sample"
require "json"

include HeapSample

SHAPE_MIB = 1024 * 1024
SHAPES = ENV["SLOW"] == "1" ? 100 : 5
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

# +right+: the verdict, or several that are; in all but one in ten series, rounded up.
def shaped(name, *right, **options, &block)
  test "#{name}: #{right.first.empty? ? "does not grow" : right.first.join(" and ")}" do
    verdicts = Array.new(SHAPES) { |seed| accounts(**options, seed: seed, &block).shape.verdict.sort }
    wrong = verdicts.reject { |verdict| right.map(&:sort).include?(verdict) }
    puts "# #{name}: #{verdicts.tally.map { |verdict, count| "#{verdict.empty? ? "not growing" : verdict.join("+")} #{count}" }.join(", ")}"
    assert(wrong.size <= (SHAPES / 10.0).ceil, wrong.inspect)
  end
end

BLOAT = ->(x) { [100 + (x.between?(0.5, 0.55) ? 80 : 0), x > 0.55 ? 90 : 10] }

shaped("nothing but noise", []) { [100, 10] }
shaped("a sawtooth", []) { |x| [100 + 30 * (x * 7 % 1), 10] }
shaped("a spike", []) { |x| [100 + (x.between?(0.5, 0.53) ? 100 : 0), 10] }
shaped("a line", [:leaks]) { |x| [100 + 60 * x, 10] }
shaped("a line under a staircase of heap pages", [:leaks]) { |x| [100 + 60 * x, 10 + 60 * ((x * 8).ceil / 8.0 - x)] }
shaped("a step whose living pass through", [:bloats], &BLOAT)
shaped("a step that stays alive", [:bloats]) { |x| [x > 0.4 ? 160 : 100, 10] }
shaped("two steps", [:bloats]) { |x| [100, 10 + [0.3, 0.7].count { |at| x > at } * 40] }
shaped("waste that levels off", [:fragments]) { |x| [100, 10 + 60 * (1 - Math.exp(-x / 0.12))] }
shaped("waste like a logarithm", [:fragments]) { |x| [100, 10 + 20 * Math.log(1 + x / 0.06)] }
shaped("a cache that fills", [:fills]) { |x| [100 + 60 * (1 - Math.exp(-x / 0.12)), 10] }
shaped("a leak and bloat", %i[leaks bloats]) { |x| BLOAT[x].zip([60 * x, 0]).map(&:sum) }
shaped("a leak and fragmentation", %i[leaks fragments]) { |x| [100 + 60 * x, 10 + 50 * (1 - Math.exp(-x / 0.1))] }
shaped("a day of a profile a minute", [:leaks], count: 1440, seconds: 86_400) { |x| [500 + 100 * x, 30] }

# Measured: 8,000 strings kept a second, each second.  A line and what levels off are much alike over so short a time.
MEASURED_LEAK = [5.2, 5.5, 5.7, 7.6, 9.1, 10.5, 11.8, 12.8, 14.7, 15.9, 17.4, 18.8, 20.2, 21.6, 23.0, 24.4, 25.7, 28.8, 30.3, 31.7, 30.4].freeze
MEASURED_WASTE = [6.8, 6.8, 6.9, 5.9, 6.5, 7.7, 8.0, 9.5, 8.3, 8.4, 8.2, 8.1, 8.0, 8.0, 7.9, 8.8, 8.8, 6.4, 6.4, 6.3, 7.3].freeze

test "a leak, and waste that is there for a while at first: leaks" do
  shape = accounts(count: MEASURED_LEAK.size, seconds: MEASURED_LEAK.size, noise: 0) { |x| [MEASURED_LEAK, MEASURED_WASTE].map { |sizes| sizes[(x * (MEASURED_LEAK.size - 1)).round] } }.shape
  equal([:leaks], shape.verdict)
end

test "the text has the figures, the parts and the verdict" do
  text = accounts { |x| BLOAT[x].zip([60 * x, 0]).map(&:sum) }.shape(width: 200).to_s
  [/^Shape: process 1, 60 profiles/, /^RSS    [▁-█]+  \d+\.\d MiB – \d+\.\d MiB$/, /^live /, /^waste /,
   /^- RSS stepped up by \+\d+\.\d MiB at 00:3\d:\d\d UTC and stayed; it was \d+% free slots and malloc's waste: the living passed through/,
   /^- RSS grows in a line: \+\d+\.\d MiB, \+\d+\.\d MiB an hour \(95%: \+\d+\.\d – \+\d+\.\d MiB\); it was \d+% live memory\.$/,
   /one would say that it\s(bloats and leaks|leaks and bloats)\./].each { |part| assert(part.match?(text), "no #{part} in\n#{text}") }
end

test "no line is wider than the terminal, no warning reaches it as it is, and data have Symbols for keys" do
  series = accounts { |x| BLOAT[x].zip([60 * x, 0]).map(&:sum) }
  series.warnings << "/tmp/x\e[31m\n.pb.gz: left out"
  short = accounts(count: 8) { |x| [100 + 100 * x, 10] }
  [40, 60, 80, 120].product([series, short]) do |width, one|
    text = one.shape(width: width).to_s
    assert(text.lines.all? { |line| line.chomp.length <= width }, "#{width}:\n#{text}")
    assert(!Layout::UNSAFE.match?(text.delete("\n")), text.inspect)
  end
  assert(series.shape(width: 80).to_s.match?(/^RSS +[▁-█]{40,}/))
  keys = ->(data) { data.is_a?(Hash) ? data.keys + data.values.flat_map(&keys) : data.is_a?(Array) ? data.flat_map(&keys) : [] }
  [series, short].each { |one| equal([Symbol], keys[one.shape.to_h].map(&:class).uniq) }
  equal([:bloats, :leaks], series.shape.to_h[:verdict].sort)
end

test "the slope of a line is in its interval" do
  hits = (1..4 * SHAPES).count do |seed|
    _, (low, high) = accounts(seed: seed) { |x| [100 + 60 * x, 10] }.shape.curve.slope
    low && (60.0 * SHAPE_MIB * 60 / 59).between?(low, high)
  end
  puts "# #{hits} of #{4 * SHAPES}"
  assert(hits >= 0.9 * 4 * SHAPES, "#{hits} of #{4 * SHAPES}")
end

test "too little is too short to say" do
  shape = accounts(count: 8) { |x| [100 + 100 * x, 10] }.shape
  equal(nil, shape.verdict)
  assert(shape.to_s.include?("Too short to say: 12 accounts past the warm-up (the first 10% of the time) are needed, there are 8."), shape.to_s)
  equal("#<HeapSample::Shape too short to say>", shape.inspect)
  none = accounts(count: 20) { [1, 1] }
  none.infos.each { |info| info.values.delete("account") }
  assert(none.shape(width: 200).to_s.include?("there are 0. 20 of 20 have no account of the process."), none.shape.to_s)
end

test "figures are ready for JSON and a plot" do
  shape = accounts { |x| [100 + 60 * x, 10] }.shape
  hash = JSON.parse(JSON.generate(shape.to_h))
  equal(["leaks"], hash["verdict"])
  equal([shape.times.size] * 3, %w[seconds rss_bytes fitted_bytes].map { |name| hash[name].size })
  hash["rss_bytes"].zip(hash["fitted_bytes"]) { |rss, fitted| assert((rss - fitted).abs < 10 * SHAPE_MIB, "#{rss} and #{fitted}") }
end

test "a curve's plainest cases, without noise" do
  times = (0..39).to_a
  kinds = {[] => ->(_) { 1e8 }, [:line] => ->(x) { 1e8 + 1e6 * x }, [:steps] => ->(x) { x < 20 ? 1e8 : 2e8 },
           [:level] => ->(x) { 2e8 - 1e8 * Math.exp(-x / 4.8) }}
  kinds.each { |names, size| equal(names, Curve.new(times, times.map(&size), least: 4e6).best.names) }
end
