# frozen_string_literal: true

# What is called a leak, by line and grouped otherwise: on built series, and how often it is right on simulated ones.  The
# latter are seeded, so that a run repeats; SLOW=1 makes many of each kind.

require "json"
require "pp"
require_relative "../../testing"
require_relative "series_simulator"

class LeaksTest < Test
  include HeapSample

  SERIES = SLOW ? 100 : 2

  HEALTHY = SLOW ? 1000 : 14

  def leaks_of(simulator, **options) = simulator.series.leaks(**options)
  def names(rows) = rows.map { |row| row.key.path }
  def simulator(seed = 1, **options) = SeriesSimulator.new(seed: seed, **options)

  # In so many of SERIES, each of other lines too, the block's line "L" is called a leak.
  def named_in(seed, **options)
    count = SERIES.times.count do |index|
      simulator = simulator(seed * 100_000 + index, **options).healthy
      yield simulator
      names(leaks_of(simulator)).include?("L")
    end
    note "called a leak in #{count} of #{SERIES}"
    count
  end

  def self.found(name, seed, **options, &block)
    test("found: #{name}") { named_in(seed, **options, &block).then { |count| assert(count >= 0.75 * SERIES, "in #{count} of #{SERIES}") } }
  end

  def self.no_leak(name, seed, **options, &block)
    test("no leak: #{name}") { named_in(seed, **options, &block).then { |count| assert(count <= [1, 0.25 * SERIES].max, "in #{count} of #{SERIES}") } }
  end

  # -- both errors -----------------------------------------------------------------

  # Such a server has thirty lines that step, fill, pile up and pass, and sizes as large as those of any leak: far worse than
  # the programs of test/zoo.
  test "of simulated healthy servers few are called leaking" do
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
    leaks = leaks_of(simulator.churn("a", 20))
    detectable = leaks.detectable * leaks.hours / SeriesSimulator::INTERVAL
    hits = (1..5 * SERIES).count { |seed| names(leaks_of(simulator(900_000 + seed).churn("a", 20).leak("L", detectable / 0.8))).include?("L") }
    note "#{detectable.ceil} samples in the time that is judged: found in #{hits} of #{5 * SERIES}"
    assert(hits >= 0.85 * 5 * SERIES, "#{hits} of #{5 * SERIES}")
  end

  # -- what is said ----------------------------------------------------------------

  test "a leak, as a person reads it, and the same as figures" do
    leaks = leaks_of(simulator.leak("/srv/app/leak.rb", 200).fills("/srv/app/cache.rb", 600, 0.15).churn("/srv/app/work.rb", 100), root: "/srv/app")
    assert_equal(["/srv/app/leak.rb"], names(leaks))
    text = leaks.to_s
    ["Leaks: process 1, 20 profiles", /Judged: memory that survived \d+ major GCs, from/, "Grows steadily and is not collected, by line:",
     /^1 .* MiB .* String +leak\.rb:1/, "Most of 1 came by:", "slowing down, as a cache fills", /19 times in 20/].each do |part|
      assert(part.is_a?(Regexp) ? part.match?(text) : text.include?(part), "no #{part.inspect} in\n#{text}")
    end
    text.each_line(chomp: true) { |line| assert(line.length <= 120, line) }
    hash = JSON.parse(JSON.generate(leaks.to_h))
    leak = hash["leaks"].first
    assert_close(leaks.first.slope, leak["bytes_per_hour"])
    assert(leak["bytes_per_hour_interval"][0] > 0)
    assert_equal([%w[none slowing]], hash["others"].map { |other| other.values_at("grade", "pattern") })
    assert_equal(%w[leak likely], hash["verdict"].values_at("kind", "grade"))
    assert_equal(%w[likely steady], leak.values_at("grade", "pattern"))
  end

  test "the last sentence is that of the diagnosis, and so is the first row" do
    [simulator.leak("L", 200), simulator.churn("L", 50), simulator.step("L", 300, 0.5)].each do |sim|
      series = sim.series
      leaks = series.leaks(width: 400)
      assert_equal(series.diagnosis(width: 400).text.sentence, leaks.to_s.lines(chomp: true).last)
      assert_equal(series.diagnosis.leak? ? ["L"] : [], names(leaks))
    end
  end

  test "no row is called a leak where the process does not grow" do
    profiles = simulator.leak("L", 200).profiles
    [[0, true], [2 << 20, false]].each do |each, empty|
      profiles.each_with_index { |profile, index| profile.meta["account"] = {"rss" => (50 << 20) + each * index, "slots_live" => (20 << 20) + each * index} }
      leaks = Series.new(profiles).leaks
      assert(leaks.empty? == empty, leaks.to_s)
      assert_equal([%i[none steady]], leaks.others.map { |row| [row.grade, row.pattern] }) if empty
    end
  end

  test "where no profile says how large the process was, what stays says it" do
    assert(names(simulator.leak("L", 200).without_accounts.leaks) == ["L"])
    assert(simulator.churn("L", 200).without_accounts.leaks.empty?)
    text = simulator.leak("L", 200).without_accounts.diagnosis.to_s
    assert(text.start_with?("Diagnosis:") && text.include?("Leak (") && !text.include?("RSS"), text)
  end

  # A leak, a cache and a warning, all with names that would colour a screen or break a line.
  HOSTILE = "/srv/app/a\e[31mvery\n\u202elong/path/that/goes/on/and/on/leak.rb"

  def hostile
    profiles = simulator(4).leak(HOSTILE, 300).fills("/srv/b\e[2J.rb", 600, 0.15).churn("/srv/app/work.rb", 100).malloced("/srv/b\e[2J.rb").profiles
    profiles.map! do |profile|
      texts = profile.texts.map { |text| text == "String" ? "Str\e[5ming\u0007" : text }
      Profile.new(meta: profile.meta, texts: texts, stacks: profile.stacks, rows: profile.table)
    end
    Series.new(profiles, warnings: ["/tmp/x\e[31m\n.pb.gz: left out"])
  end

  test "no name reaches the terminal as it is, and no line is wider than it is" do
    [60, 80, 100, 120].each do |width|
      [hostile.leaks(width: width), Series.new(simulator.leak(HOSTILE, 9).profiles.last(3), warnings: ["\e[0m"]).leaks(width: width),
       simulator(majors: 0).leak(HOSTILE, 300).series.leaks(width: width)].each do |leaks|
        text = leaks.to_s
        refute(HeapSample::Printable::UNSAFE.match?(text.delete("\n")), text.inspect)
        # A word that is wider alone is a path that can be copied.
        assert(text.lines(chomp: true).all? { |line| line.length <= width || !line.include?(" ") }, "#{width}:\n#{text}")
      end
    end
    text = hostile.leaks(width: 120).to_s
    assert(text.include?("leak.rb:1") && text.include?("Str\\e[5ming\\u0007") && text.include?("Warning: /tmp/x\\e[31m\\n.pb.gz: left out"), text)
  end

  test "weak rows are marked, and titles and growth are styled" do
    style = Object.new.tap { |object| Layout::STYLES.each { |name| object.define_singleton_method(name) { |text| "<#{name}>#{text}" } } }
    leaks = leaks_of(simulator.leak("L", 300).leak("M", 200), style: style)
    text = leaks.to_s
    assert(text.include?("<title>Leaks: ") && text.match?(/^<grown>1 /) && !text.include?("~"), text)
    weak = leaks.leaks.last.tap { |row| row.group.instance_variable_set(:@samples, 3) }
    assert(leaks.to_s.match?(/^<weak>~2 /) && leaks.to_s.include?("<weak>~ fewer than 10 samples: weak"), leaks.to_s)
    assert_equal([weak.key.path, true], leaks.to_h[:leaks].last.values_at(:path, :weak))
  end

  # Keys of all Hashes in it.
  def keys_of(data)
    case data
    when Hash then data.keys + data.values.flat_map { |value| keys_of(value) }
    when Array then data.flat_map { |value| keys_of(value) }
    else []
    end
  end

  test "data have Symbols for keys, as those of all analyses" do
    [hostile.leaks, Series.new(simulator.leak("L", 9).profiles.last(2)).leaks].each do |leaks|
      assert_equal([Symbol], keys_of(leaks.to_h).map(&:class).uniq)
    end
    leak = hostile.leaks.to_h[:leaks].first
    assert_equal([HOSTILE, 1, :likely, :slots], leak.values_at(:path, :line, :grade, :memory))
  end

  test "nothing is said to be nothing, and how much may be missed" do
    leaks = leaks_of(simulator.churn("a", 50).turnover("b", 100, 0.1))
    assert(leaks.empty? && leaks.reason.nil?)
    assert(leaks.to_s.match?(/^No leak found: /), leaks.to_s)
    assert(leaks.to_s.match?(/A steady leak of \d+\.\d MiB\/hour or more on one line would have been found, 19 times in 20/))
  end

  test "two or three profiles are too few, and it says what is missing" do
    profiles = simulator.leak("L", 200).profiles
    [1, 2, 3].each do |count|
      leaks = Series.new(profiles.last(count)).leaks
      assert(leaks.empty? && leaks.detectable.nil? && leaks.total.nil?)
      assert(leaks.to_s.include?("Cannot tell: this process has #{count}"), leaks.to_s)
      JSON.generate(leaks.to_h)
    end
  end

  test "without major GCs nothing is called a leak, and what may be one is named" do
    leaks = leaks_of(simulator(majors: 0).leak("L", 300))
    assert(leaks.empty?)
    assert_equal([%i[unknown steady]], leaks.others.map { |row| [row.grade, row.pattern] })
    assert(leaks.to_s.include?("steadily; a leak or not: unknown"), leaks.to_s)
    assert(leaks_of(simulator(majors: 0).churn("L", 300)).empty?)
  end

  test "by class, by whole stack and by kind of memory, a row leaks if lines that leak made half of it" do
    sim = simulator(7).leak("L", 200).churn("M", 10)
    assert_equal(["String"], leaks_of(sim, by: :class).map(&:key))
    row = leaks_of(sim, by: :stack).first
    assert_equal(["L:1:in 'L'"], row.key.map(&:to_s))
    assert(leaks_of(sim, by: :stack).to_s.include?("L:1"))
    together = simulator(7).leak("L", 100).leak("M", 400, to: 0.5).series
    assert_equal([["L"], [], [:slowing]], [names(together.leaks), *together.leaks(by: :class).then { |leaks| [leaks.map(&:key), leaks.others.map(&:pattern)] }])
    malloc = simulator(7).leak("L", 200).leak("M", 200).malloced("M")
    assert_equal([%w[M], :malloc], leaks_of(malloc, kind: :malloc).then { |leaks| [names(leaks), leaks.first.kind] })
    assert_equal([%w[L], :slots], leaks_of(malloc, kind: :slots).then { |leaks| [names(leaks), leaks.first.kind] })
  end

  test "of rows that were filtered the verdict is that of the whole process" do
    series = simulator(7).leak("L", 200).churn("M", 50).series
    assert_equal([["L"], []], [{path: "L"}, {path: "M"}].map { |wanted| names(series.filter(**wanted).leaks) })
    text = series.filter(path: "M").leaks(width: 400).to_s
    assert(text.include?("None of these rows leaks. As a whole: Leak ("), text)
  end

  test "with a longer warm-up what came early is not judged" do
    series = simulator(3).leak("L", 300, to: 0.3).churn("M", 20).series
    early = series.leaks(warmup: 0).leaks + series.leaks(warmup: 0).others
    assert_equal([["L"], []], [names(early), names(series.leaks(warmup: 0.5 * SeriesSimulator::HOURS * 3600).then { |leaks| leaks.leaks + leaks.others })])
  end

  test "options that make no sense are ArgumentErrors" do
    series = simulator.leak("L", 10).series
    assert_error(ArgumentError, /cannot group by :colour: by must be one of :line, .*:stack/) { series.leaks(by: :colour) }
    assert_error(ArgumentError, /kind must be one of/) { series.leaks(kind: :all) }
    assert_error(ArgumentError, /top must be a positive Integer/) { series.leaks(top: 0) }
    assert_error(ArgumentError, /warmup must be a number of seconds, not "x"/) { series.leaks(warmup: "x") }
  end

  test "profiles of other tools, which know no GC, are told so" do
    profiles = simulator.leak("L", 100).profiles.each { |profile| profile.meta.delete("gc") }
    assert(Series.new(profiles).leaks.to_s.include?("The profiles do not tell when GCs were"))
  end

  test "inspect is one line, pp a short text" do
    leaks = leaks_of(simulator.leak("L", 300))
    assert(leaks.inspect.match?(/\A#<HeapSample::Leaks L:1 L \+\d+\.\d MiB\/h>\z/), leaks.inspect)
    assert(PP.pp(leaks, +"").include?("Leak ("))
  end
end
