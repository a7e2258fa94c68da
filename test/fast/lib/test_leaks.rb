# frozen_string_literal: true

# What is called a leak: by the rules on built series, and how often it is right on simulated
# ones.  The latter are seeded, so that a run repeats: N of each kind, or as many as it takes
# for its test to be able to fail, ten times as many of healthy ones; with SLOW=1 many.  Bounds
# leave four standard deviations for the fewer.
require "series_simulator"
require "json"

include HeapSample

SLOW = ENV["SLOW"] == "1"
SERIES = Integer(ENV["N"] || (SLOW ? 200 : 4))
HEALTHY = 10 * SERIES

def leaks_of(simulator, **options) = simulator.series.leaks(**options)
def names(rows) = rows.map { |row| row.key.path }
def simulator(seed = 1, **options) = SeriesSimulator.new(seed: seed, **options)

# Share of so many series, each of other lines too, in which the block's line "L" is called a leak; of those in which
# another is; and of those in which what "L" truly grew is in the interval.
def simulate(seed, series, **options)
  counts = [0, 0, 0]
  series.times do |index|
    simulator = simulator(seed * 100_000 + index, **options).healthy
    yield simulator
    leaks = leaks_of(simulator)
    flunk(leaks.reason) if leaks.reason
    named = names(leaks.leaks)
    counts[0] += 1 if named.include?("L")
    counts[1] += 1 unless (named - ["L"]).empty?
    counts[2] += 1 if covers?(leaks.cohorts, simulator)
  end
  counts.map { |count| count.fdiv(series) }
end

def covers?(cohorts, simulator)
  _, cohort = cohorts.groups.find { |key, _| key.path == "L" }
  return false unless cohort

  from, to = [cohorts.moments.first, cohorts.moments.last].map { |moment| simulator.at(moment.time) }
  slope = simulator.grown("L", from, to) * SeriesSimulator::BYTES / cohorts.hours
  slope.between?(*cohorts.trend(cohort).slope_interval)
end

def percent(share) = format("%.1f%%", share * 100)

# A share of so many series that should be +share+ is at least, or at most, this far from it.
def margin(share, series) = 4 * Math.sqrt([share * (1 - share), 0.01].max / series)

# So many that it is seen if half of +power+ is lost: 4 are no test of what is found in 40%, since none of 4 is no wonder.
def series_for(power) = (SERIES..).find { |series| margin(power, series) <= power / 2 }

# +power+: found so often at least.
def found(name, seed, power, **options, &block)
  test "found: #{name}" do
    series = series_for(power)
    share, others, covered = simulate(seed, series, **options, &block)
    puts "# #{name}: found #{percent(share)} of #{series}, another row named in #{percent(others)}, interval holds #{percent(covered)}"
    assert(share >= power - margin(power, series), "found in #{percent(share)}")
    assert(others <= 0.01 + margin(0.01, series), "another row named in #{percent(others)}")
    assert(covered >= 0.95 - margin(0.95, series), "the interval holds the truth in #{percent(covered)}")
  end
end

# +most+: called a leak so often at most.
def no_leak(name, seed, most, **options, &block)
  test "no leak: #{name}" do
    share, = simulate(seed, SERIES, **options, &block)
    puts "# #{name}: called a leak in #{percent(share)}"
    assert(share <= most + margin(most, SERIES), "called a leak in #{percent(share)}")
  end
end

# -- both errors -----------------------------------------------------------------

test "of healthy series, at most 1 in 100 has a row called a leak" do
  wrong = judged = 0
  HEALTHY.times do |seed|
    leaks = leaks_of(simulator(seed).healthy)
    wrong += 1 unless leaks.empty?
    judged += leaks.judged
  end
  puts "# #{wrong} of #{HEALTHY} healthy series, #{judged} rows judged"
  assert(wrong <= 0.01 * HEALTHY + 4 * Math.sqrt(0.01 * HEALTHY), "#{wrong} of #{HEALTHY}")
end

# The time that is judged is about 0.7 of the series.
{60 => 0.55, 80 => 0.75, 110 => 0.95, 200 => 0.99}.each_with_index do |(samples, power), index|
  found("a leak of #{samples} samples", 1 + index, power) { |sim| sim.leak("L", samples) } if SLOW || samples == 110
end
found("110 samples under 300 that come and go", 11, 0.95) { |sim| sim.leak("L", 110).churn("L", 300) }
found("110 samples behind a warm-up of 300", 12, 0.95) { |sim| sim.leak("L", 110).leak("L", 300, to: 0.12) }
found("200 samples beside a cache of 100 that turns over", 13, 0.6) { |sim| sim.leak("L", 200).turnover("L", 100, 0.05) }
BURSTS = Array.new(30) { |index| Random.new(index).rand < 0.3 ? 1.0 : 0.05 }.freeze
IN_BURSTS = ->(time) { BURSTS[(time * 30).floor] || 0 }
found("200 samples in bursts of requests", 14, 0.9, profiles: 30, traffic: IN_BURSTS) { |sim| sim.leak("L", 200 / (BURSTS.sum / 30)) }
found("200 samples by a timer, requests in bursts", 15, 0.8, profiles: 30, traffic: IN_BURSTS) { |sim| sim.leak("L", 200, rate: nil) }
DAY = ->(time) { 0.5 + 0.45 * Math.sin(2 * Math::PI * (2 * time + 0.1)) }
found("200 samples by the request, day and night", 16, 0.9, profiles: 40, traffic: DAY) { |sim| sim.leak("L", 400) }
found("110 samples in 100 profiles", 17, 0.95, profiles: 100) { |sim| sim.leak("L", 110) } if SLOW
found("600 samples in 10 profiles", 18, 0.4, profiles: 10) { |sim| sim.leak("L", 600) }
found("110 samples of malloc", 19, 0.9) { |sim| sim.leak("L", 110).malloced("L") }
found("110 samples of malloc under 300 that come and go", 20, 0.9) { |sim| sim.leak("L", 110).churn("L", 300).malloced("L") }
found("600 of malloc in files of format 2, under 20 that come and go", 20, 0.9) { |sim| sim.leak("L", 600).churn("L", 20).malloced("L").without_births }

no_leak("a cache that was full half way", 31, 0.01) { |sim| sim.leak("L", 300, to: 0.5) }
no_leak("a cache that filled for three quarters of the time", 32, 0.01) { |sim| sim.leak("L", 300, to: 0.75) }
no_leak("a cache that levels off, filled to 95%", 33, 0.05) { |sim| sim.fills("L", 300, 0.33) }
no_leak("the same, of 2,000 samples", 34, 0.01) { |sim| sim.fills("L", 2_000, 0.33) }
no_leak("a cache that is full and turns over", 35, 0.01) { |sim| sim.turnover("L", 300, 0.5) }
no_leak("the same, filled in the series", 36, 0.01) { |sim| sim.turnover("L", 300, 0.2, fills: true) }
no_leak("a step", 37, 0.01) { |sim| sim.step("L", 500, 0.2 + 0.7 * sim.random.rand) }
no_leak("three steps", 38, 0.01) { |sim| 3.times { sim.step("L", 200, sim.random.rand) } }
no_leak("a sawtooth that major GCs cut", 39, 0.01) { |sim| sim.sawtooth("L", 300) }
no_leak("the same of malloc", 40, 0.01) { |sim| sim.sawtooth("L", 300).malloced("L") }
no_leak("a queue", 41, 0.01) { |sim| sim.queue("L", 300) }
no_leak("a tide", 42, 0.01) { |sim| sim.tide("L", 300, 2 + 3 * sim.random.rand) }
no_leak("a warm-up", 43, 0.01) { |sim| sim.leak("L", 500, to: 0.19) }
no_leak("churn of malloc", 44, 0.01) { |sim| sim.churn("L", 100).malloced("L") }
no_leak("churn of malloc in files of format 2", 44, 0.01) { |sim| sim.churn("L", 100).malloced("L").without_births }
no_leak("a ring of malloc that is replaced all along", 45, 0.01) { |sim| sim.turnover("L", 300, 0.05).malloced("L") }

# -- the rules -------------------------------------------------------------------

test "a leak, as a person reads it, and the same as figures" do
  leaks = leaks_of(simulator.leak("/srv/app/leak.rb", 200).fills("/srv/app/cache.rb", 600, 0.15).churn("/srv/app/work.rb", 100), root: "/srv/app")
  equal(["/srv/app/leak.rb"], names(leaks))
  text = leaks.to_s
  ["Leaks: process 1, 20 profiles", "Judged: what 2 more major GCs left alive", "Grows all along and is not collected, by line:",
   /^1 .* MiB .* String +leak\.rb:1/, "Most of 1 came by:", "slowing down, as a cache fills", /19 times in 20/,
   /^It leaks at leak\.rb:1 `.*`: \+\d+\.\d MiB an hour \(\+.*\), mostly `String`\.$/].each do |part|
    assert(part.is_a?(Regexp) ? part.match?(text) : text.include?(part), "no #{part.inspect} in\n#{text}")
  end
  text.each_line(chomp: true) { |line| assert(line.length <= 120, line) }
  hash = JSON.parse(JSON.generate(leaks.to_h))
  leak = hash["leaks"].first
  close(leaks.first.slope, leak["bytes_per_hour"])
  assert(leak["bytes_per_hour_interval"][0] > 0)
  equal(%w[slowing], hash["others"].map { |other| other["verdict"] })
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
      assert(!Layout::UNSAFE.match?(text.delete("\n")), text.inspect)
      # A word that is wider alone is a path that can be copied.
      assert(text.lines(chomp: true).all? { |line| line.length <= width || !line.include?(" ") }, "#{width}:\n#{text}")
    end
  end
  text = hostile.leaks(width: 80).to_s
  assert(text.include?("leak.rb:1") && text.include?("Str\\e[5ming\\u0007") && text.include?("Warning: /tmp/x\\e[31m\\n.pb.gz: left out"), text)
end

test "weak rows are marked, and titles and growth are styled" do
  few = Cohorts::Change.new(Estimate.new(3, 3, 3 * 512.0, 3 * 512.0**2), Estimate.new)
  style = Object.new.tap { |object| Layout::STYLES.each { |name| object.define_singleton_method(name) { |text| "<#{name}>#{text}" } } }
  leaks = leaks_of(simulator.leak("L", 300).leak("M", 200), style: style)
  text = leaks.to_s
  assert(text.include?("<title>Leaks: ") && text.match?(/^<grown>1 /) && !text.include?("~"), text)
  weak = leaks.leaks.last.tap { |row| row.trend = Trend.new(row.trend.blocks, whole: few, recent: {}, hours: 1.0) }
  assert(leaks.to_s.match?(/^<weak>~2 /) && leaks.to_s.include?("<weak>~ fewer than 10 samples: weak"), leaks.to_s)
  equal([weak.key.path, true], leaks.to_h[:leaks].last.values_at(:path, :weak))
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
    equal([Symbol], keys_of(leaks.to_h).map(&:class).uniq)
  end
  leak = hostile.leaks.to_h[:leaks].first
  equal([HOSTILE, 1, :leak, :slots], leak.values_at(:path, :line, :verdict, :memory))
end

test "nothing is said to be nothing, and how much may be missed" do
  leaks = leaks_of(simulator.churn("a", 50).turnover("b", 100, 0.1))
  assert(leaks.empty? && leaks.reason.nil?)
  assert(leaks.to_s.end_with?("None found.\n"), leaks.to_s)
  assert(leaks.to_s.match?(/A steady leak of \d+\.\d MiB an hour on one row would have been named, 19 times in 20/))
end

test "what may be missed is what is found 19 times in 20" do
  detectable = leaks_of(simulator.healthy).then { |leaks| leaks.detectable * leaks.cohorts.hours / SeriesSimulator::INTERVAL }
  hits = (1..SERIES).count do |seed|
    sim = simulator(900_000 + seed).healthy
    names(leaks_of(sim.leak("L", detectable / 0.7))).include?("L")
  end
  puts "# #{detectable.ceil} samples in the time that is judged: found #{percent(hits / SERIES.to_f)}"
  assert(hits >= (0.93 - margin(0.95, SERIES)) * SERIES, "#{hits} of #{SERIES}")
end

test "two or three profiles are too few, and it says what is missing" do
  profiles = simulator.leak("L", 200).profiles
  [1, 2, 3].each do |count|
    leaks = Series.new(profiles.last(count)).leaks
    assert(leaks.empty? && leaks.detectable.nil?)
    assert(leaks.to_s.include?("Too few profiles to say: 5 are needed that are past the warm-up and have 4 GCs after them. Of #{count}, "), leaks.to_s)
    JSON.generate(leaks.to_h)
  end
end

test "without major GCs nothing is called a leak, and what may be one is named" do
  leaks = leaks_of(simulator(majors: 0).leak("L", 300))
  assert(leaks.empty?)
  equal([:unsettled], leaks.others.map(&:verdict))
  assert(leaks.to_s.include?("None found for certain. L:1 `L` grows like a leak"), leaks.to_s)
  assert(leaks_of(simulator(majors: 0).churn("L", 300)).to_s.end_with?("None found.\n"))
end

test "where the interval changed, the longest time with one is judged" do
  profiles = simulator(3, profiles: 40).leak("L", 400).profiles
  profiles.first(12).each { |profile| profile.meta["settings"] = profile.meta["settings"].merge("interval" => 1024, "interval_changes" => 3) }
  leaks = Series.new(profiles).leaks
  assert(leaks.to_s.include?("The sampling interval changed once: judged are the 28 profiles"), leaks.to_s)
  equal(["L"], names(leaks))
end

test "where the interval moved and nothing was thinned, all of the time is judged" do
  profiles = simulator(3, profiles: 40).leak("L", 400).profiles
  profiles.each_with_index do |profile, index|
    profile.meta["settings"] = profile.meta["settings"].merge("interval" => 1024 << index % 3, "interval_changes" => index, "thinnings" => 0)
  end
  leaks = Series.new(profiles).leaks
  assert(!leaks.to_s.include?("The sampling interval changed"), leaks.to_s)
  equal(["L"], names(leaks))
end

test "no row is called a leak where the diagnosis says that the process does not grow" do
  profiles = simulator.leak("L", 200).profiles
  [[0, true], [2 << 20, false]].each do |each, empty|
    profiles.each_with_index { |profile, index| profile.meta["account"] = {"rss" => (50 << 20) + each * index, "slots_live" => (20 << 20) + each * index} }
    leaks = Series.new(profiles).leaks
    assert(leaks.empty? == empty, leaks.to_s)
  end
end

test "a line's slots are judged without the malloc that comes and goes there" do
  sim = simulator(5).leak("L", 150)
  noise = simulator(6).churn("L", 200).malloced("L", 30_000).without_births
  profiles = sim.without_births.profiles.zip(noise.profiles).map do |profile, other|
    Profile.new(meta: profile.meta, texts: profile.texts, stacks: profile.stacks, rows: profile.table + other.table)
  end
  leaks = Series.new(profiles).leaks
  equal(["L", :slots], leaks.first.then { |row| [row&.key&.path, row&.kind] })
  assert(leaks.to_s.match?(/ memory .*\n.* slots +String/), leaks.to_s)
end

test "what replaces objects from before sampling started may be no leak, which is said" do
  profiles = simulator(9).leak("L", 300).profiles
  replaced = "died meanwhile: what came in its place grows here"
  heap = ->(live) { [{"slot_size" => 160, "live_slots" => live, "live_at_start" => 2_000_000}] }
  profiles.each { |profile| profile.meta["heaps"] = heap[2_000_000] }         # none came in addition
  assert(Series.new(profiles).leaks.to_s.include?(replaced))
  profiles.each { |profile| profile.meta["heaps"] = heap[2_000_000 + profile.rows.sum { |row| row.inuse.objects }.round] }
  assert(!Series.new(profiles).leaks.to_s.include?(replaced))
end

test "by class, and by whole stack" do
  sim = simulator(7).leak("L", 200).churn("M", 10)
  equal(["String"], leaks_of(sim, by: :class).map(&:key))
  row = leaks_of(sim, by: :stack).first
  equal(["L:1:in 'L'"], row.key.map(&:to_s))
  assert(leaks_of(sim, by: :stack).to_s.include?("L:1"))
end

test "options that make no sense are ArgumentErrors" do
  series = simulator.leak("L", 10).series
  raises(ArgumentError, /cannot group by :colour: by is one of :line, .*:stack/) { series.leaks(by: :colour) }
  raises(ArgumentError, /kind is one of/) { series.leaks(kind: :all) }
  raises(ArgumentError, /top is a positive Integer/) { series.leaks(top: 0) }
  raises(ArgumentError, /warmup is a number of seconds, not "x"/) { series.leaks(warmup: "x") }
end

test "profiles of other tools, which know no GC, are told so" do
  profiles = simulator.leak("L", 100).profiles.each { |profile| profile.meta.delete("gc") }
  assert(Series.new(profiles).leaks.to_s.include?("The profiles do not tell when GCs were"))
end

test "inspect is one line, pp a short text" do
  require "pp"
  leaks = leaks_of(simulator.leak("L", 300))
  assert(leaks.inspect.match?(/\A#<HeapSample::Leaks L:1 L \+\d+\.\d MiB\/h>\z/), leaks.inspect)
  assert(PP.pp(leaks, +"").include?("It leaks at"))
end

# -- the statistics --------------------------------------------------------------

test "Student's t, as in tables" do
  [[12.706, 1, 0.025], [2.571, 5, 0.025], [2.718, 11, 0.01], [3.106, 11, 0.005], [1.96, 100_000, 0.025]].each do |value, freedom, tail|
    close(tail, Trend.student_tail(value, freedom), 2e-5)
    close(value, Trend.student_quantile(tail, freedom), 1e-3)
  end
  close(0.975, Trend.student_tail(-2.571, 5), 1e-4)
end

test "odds of signs are binomial, and sizes that differ are brought to one" do
  estimate = ->(count) { Estimate.new(count, count, count * 512.0, count * 512.0**2) }
  close(2**-10, Trend.sign_odds(estimate[10], estimate[0]), 1e-12)
  close(11 / 1024.0, Trend.sign_odds(estimate[9], estimate[1]), 1e-12)
  equal(1.0, Trend.sign_odds(estimate[3], estimate[3]))
  equal(0.0, Trend.sign_odds(Estimate.new(1, 1, 1e7, 0.0), Estimate.new))
end

test "a step has t = 1, whatever its size" do
  block = ->(count) { Trend::Block.new(Estimate.new(count, count, count * 512.0, count * 512.0**2), Estimate.new, 0.1, 0.1) }
  blocks = [*[block[0]] * 5, block[10_000], *[block[0]] * 4]
  trend = Trend.new(blocks, whole: Cohorts::Change.new(block[10_000].gained, Estimate.new),
                            recent: {3 => Cohorts::Change.new(Estimate.new, Estimate.new)}, hours: 1.0)
  close(Trend.student_tail(1, 9), trend.trend_odds, 1e-9)
  assert(trend.slowing?)
end
