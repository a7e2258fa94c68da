# frozen_string_literal: true

require "json"
require "tmpdir"
require_relative "../../testing"
require "heapsample"

class ComparisonTest < Test
  include HeapSample

  # Runs with these objects allocated, and these bytes by line.
  def runs(allocated, lines = {}, sampled: true, environment: {"ruby" => "3.4.5"})
    all = allocated.each_with_index.map do |count, index|
      rows = lines.transform_values { |values| [values[index].to_f, 0.0] }
      figures = {allocated: count, retained: 1 << 20, peak: 50 << 20, allocated_bytes: sampled ? count * 40 : nil}.compact
      RunFolder::Run.new(name: "run-#{index}", figures: figures, rows: {%i[allocated_bytes line] => rows}, environment: environment, sampled: sampled, processes: 1,
                         places: {})
    end
    RunFolder.new("runs", runs: all)
  end

  BASE = [1_000_000, 1_000_900, 999_100, 1_000_300, 999_800].freeze

  def compare(base, head, **options) = Comparison.new(base, head, **options)

  test "two percent more are higher, and the line that has them is named" do
    lines = {"app/x.rb X#y" => [8_000_000] * 5, "app/z.rb Z#a" => [4_000_000, 4_010_000, 3_990_000, 4_000_000, 4_005_000]}
    more = {"app/x.rb X#y" => [8_800_000] * 5, "app/z.rb Z#a" => [4_001_000, 4_009_000, 3_991_000, 4_003_000, 4_004_000]}
    comparison = compare(runs(BASE, lines), runs(BASE.map { |count| count + 20_000 }, more))
    assert(comparison.higher?)
    assert_equal([%i[allocated higher], %i[allocated_bytes higher], %i[retained noise], %i[peak noise]], comparison.totals.map { |row| [row.figure, row.verdict] })
    assert_equal(["app/x.rb X#y"], comparison.rows(:allocated_bytes, :line).select(&:higher?).map(&:key))
    assert_includes(comparison.to_s, "Higher: objects allocated +2.0%, bytes allocated +2.0%.")
    assert_includes(comparison.text.to_markdown, "| `app/x.rb X#y` |")
    assert_match(/failures="3"/, comparison.text.to_junit)
  end

  test "the same is within noise, a certain change below the limit is not higher, and less is lower" do
    refute(compare(runs(BASE), runs(BASE.rotate)).higher?)
    small = compare(runs(BASE), runs(BASE.map { |count| count + 6000 }))
    assert_equal([:small, false], [small.totals.first.verdict, small.higher?])
    assert(compare(runs(BASE), runs(BASE.map { |count| count + 6000 }), limit: 0.005).higher?)
    lower = compare(runs(BASE), runs(BASE.map { |count| count - 50_000 }))
    assert_equal([:lower, false], [lower.totals.first.verdict, lower.higher?])
  end

  # One run of five that is far off must not hide behind the mean, nor make a difference by itself.
  test "one odd run is no difference" do
    refute(compare(runs(BASE), runs([*BASE.first(4), 2_000_000])).higher?)
    refute(compare(runs([*BASE.first(4), 2_000_000]), runs(BASE)).changed.any?)
  end

  test "without noise at all the spread counts as the floor, and two runs on a side are too few" do
    assert(compare(runs([100_000] * 4), runs([102_000] * 4)).higher?)
    refute(compare(runs([100_000] * 4), runs([100_900] * 4)).higher?)
    one = compare(runs([100_000]), runs([150_000]))
    assert_equal([false, :noise], [one.higher?, one.totals.first.verdict])
    assert_includes(one.to_s, "not known")
  end

  # Noise of a normal distribution, and noise of two values, which suites have that run in random order.
  test "at most ten of a thousand comparisons of equal runs name anything" do
    random = Random.new(5)
    normal = -> { Math.sqrt(-2 * Math.log(1 - random.rand)) * Math.cos(2 * Math::PI * random.rand) }
    noises = {normal: -> { 1_000_000 + (normal.call * 20_000) }, two: -> { random.rand < 0.5 ? 1_000_000 : 1_060_000 }, rare: -> { random.rand < 0.1 ? 1_300_000 : 1_000_000 }}
    count = SLOW ? 3000 : 300
    noises.each do |name, noise|
      alarms = Array.new(count) do
        sides = Array.new(2) { runs(Array.new(5) { noise.call }, {"a" => Array.new(5) { 4_000_000 + (normal.call * 50_000) }}) }
        compare(*sides).changed.any? ? 1 : 0
      end.sum
      assert_operator(alarms, :<=, count / 100 + 3, "#{name}: #{alarms} of #{count}")
    end
  end

  test "Student's quantiles agree with the tables" do
    {[0.05, 4] => 2.7764, [0.01, 8] => 3.3554, [0.001, 8] => 5.0413, [0.05, 1] => 12.706}.each { |(level, degrees), value| assert_in_delta(value, Comparison.student(level, degrees), 0.001) }
  end

  test "what differs around the runs comes before the figures, and how many runs are needed is printed" do
    text = compare(runs(BASE, environment: {"ruby" => "3.4.5", "gem rack" => "2.2.8"}), runs(BASE, environment: {"ruby" => "3.4.5", "gem rack" => "3.1.0", "YJIT" => "on"})).to_s
    assert_operator(text.index("What else differs: YJIT: none → on; gem rack: 2.2.8 → 3.1.0."), :<, text.index("objects allocated"))
    noisy = [1_000_000, 1_006_000, 994_000, 1_003_000]
    assert_match(/make \d+ runs of each/, compare(runs(noisy), runs(noisy)).to_s)
    assert_match(/counted for the whole process/, compare(runs(BASE, sampled: false), runs(BASE, sampled: false)).to_s)
  end

  test "budgets are met by the runs that wrote them, and name what is over" do
    Dir.mktmpdir do |folder|
      Budget.of(runs(BASE)).save("#{folder}/memory.json")
      budget = Budget.load("#{folder}/memory.json")
      assert_empty(budget.over(runs(BASE)))
      over = budget.over(runs(BASE.map { |count| count + 30_000 }))
      assert_equal([[:allocated, nil, 1_000_020], [:allocated_bytes, nil, 40_000_800]], over.map { |one| one.to_a.first(3) })
      assert_empty(budget.over(runs([*BASE.first(4).map { |count| count * 2 }, 1_000_000])))
      File.write("#{folder}/memory.json", "{}")
      assert_raises(FormatError) { Budget.load("#{folder}/memory.json") }
    end
  end

  test "names with anything in them leave Markdown and JUnit whole" do
    nasty = "x|<b>`&\"\n\e[1m"
    comparison = compare(runs(BASE, {nasty => [1_000_000] * 5}), runs(BASE, {nasty => [5_000_000] * 5}))
    assert_equal([nasty], comparison.changed.map(&:key))
    row = comparison.text.to_markdown.lines.find { |line| line.start_with?("| higher") && line.include?("<b>") }
    assert_match(/\A\| higher \|.*\| `+.*x\\\|<b>.*`+ \|\n\z/, row)
    refute_match(/<b>|\e/, comparison.text.to_junit)
  end

  test "in Markdown a sentence is prose, and code where a name in it may be Markdown" do
    first = ->(names) { compare(runs(BASE, environment: names), runs(BASE, environment: {})).text.to_markdown.lines[2] }
    assert_equal("Ruby, gems, YJIT and allocator are the same.\n", first[{}])
    assert_equal("What else differs: gem rack: 2.2.8 → none.\n", first[{"gem rack" => "2.2.8"}])
    ["*rack*", "@rack", "www.rack", "http://rack", "rack_x", "<b>", "[rack](x)", "a`b"].each { |name| assert_match(/\A`+.*`+\n\z/, first[{"gem #{name}" => "1"}], name) }
  end

  test "of a total that is higher, only kinds of parts with a certain one are shown, or one kind with the likeliest" do
    less, more = {"a.rb:1" => [8_000_000] * 5}, {"a.rb:1" => [8_800_000] * 5}
    titles = ->(*both) { compare(*both).text.to_markdown.scan(/^#### (.*)/).flatten }
    assert_equal(["Bytes allocated, by line"], titles[runs(BASE, less), runs(BASE.map { |count| count + 20_000 }, more)])
    noisy = {"a.rb:1" => [8_000_000, 9_000_000, 8_200_000, 9_100_000, 7_900_000]}
    assert_equal(["Bytes allocated, by line (none alone is certain)"], titles[runs(BASE, less), runs(BASE.map { |count| count + 20_000 }, noisy)])
  end
end
