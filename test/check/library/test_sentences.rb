# frozen_string_literal: true

# Each sentence of a diagnosis against its data: the figures that are printed are read back, and compared with #to_h and with
# the series. Every state and kind is here once.

require "json"
require "shellwords"
require "heapsample/tool"
require_relative "../../testing"
require_relative "counted_series"

class SentencesTest < Test
  include CountedSeries
  include HeapSample

  FORCED = {"limit_ppm" => 10_000, "gcs" => 0, "gc_ns" => 0, "walks" => 0, "walk_ns" => 0, "longest_stop_ns" => 0, "of_ns" => 60 * SECOND}.freeze
  LIMIT = {limit: {"limit_bytes" => 2 << 30, "limit_used" => 1 << 30, "limit_machine" => false}}.freeze
  NATIVE = ["!/usr/lib/libz.so.1 deflateInit2_", APP].freeze
  EDGES = {5 => ["constant Cart::ALL", "element [] of Array"], 8 => ["constant Report::ROWS", "element [] of Array"]}.freeze

  def noisy(count, pid: 4711, seed: 1, **options)
    random = Random.new(seed)
    series(count, pid: pid, **options) { |minute| {slots: 20 + minute + random.rand, rows: ->(build) { kept(build, LEAK, minute, 12); kept(build, OTHER, minute, 4, class_name: "Row") }} }
  end

  def native
    series(20) { |minute| {malloc: 30 + (1.06 * minute), rows: ->(build) { (1..minute).each { |step| build.blocks(NATIVE, "libz.so.1", 60_000, at_gc: (step * EACH) - 5, inuse: 2, alloc: 2) } }} }
  end

  def two_leaks
    walked(series(20) { |minute| {slots: 20 + (1.5 * minute), rows: ->(build) { kept(build, LEAK, minute, 16); kept(build, OTHER, minute, 8, class_name: "Row") }} }, EDGES)
  end

  # Growth of which one guard says no more than that it is certain.
  GUARDED = {
    late: ->(minute) { 0.001 * (minute**3) }, slows: ->(minute) { 20 * (minute**0.2) }, back: ->(minute) { minute < 9 ? 50 : minute },
    steps: ->(minute) { (0.05 * minute) + (10 * [9, 14, 19].count { |step| minute > step }) },
    waves: Random.new(159).then { |random| wave = 0.0; waves = Array.new(49) { (60 * (wave = (0.8 * wave) + random.rand - 0.5)) / 10 }; ->(minute) { 10 + minute + waves[minute - 1] } }
  }.freeze

  # Name => one series or several.
  def self.cases
    @cases ||= {
      likely: -> { leaking(20) }, noisy: -> { noisy(40) }, retained: -> { walked(leaking(20), EDGES.slice(5)) }, two_leaks: -> { two_leaks }, limit: -> { leaking(20, **LIMIT) },
      over_limit: -> { leaking(20, limit: {"limit_bytes" => 1 << 20, "limit_used" => 1 << 30, "limit_machine" => true}) }, lost: -> { walked(native, {12 => nil}) }, native: -> { native },
      threads: -> { series(30) { |minute| {threads: 10 * minute} } }, fibers: -> { series(30) { |minute| {fibers: 10 * minute} } }, pool: -> { series(30) { |minute| {threads: 300 + (10 * minute)} } },
      threads_and_bytes: -> { series(30) { |minute| {slots: 20 + minute, threads: 10 * minute, rows: ->(build) { kept(build, LEAK, minute, 16) }} } },
      mapped: -> { series(20) { |minute| {mapped: 2 * minute} } }, no_line: -> { series(20) { |minute| {slots: 20 + minute} } },
      malloc: -> { series(20) { |minute| {slots: 20 + minute, malloc: 30 + (2 * minute)} } },
      malloc_too: -> { series(20) { |minute| {slots: 20 + minute, malloc: 30 + (0.2 * (minute % 7)) + (0.1 * minute)} } },
      malloc_shrinks: -> { series(20) { |minute| {slots: 20 + minute, malloc: 60 - minute} } },
      waits: -> { leaking(13) }, ended: -> { leaking(40, until_minute: 20) }, ended_long_ago: -> { leaking(120, until_minute: 20) },
      ended_threads: -> { series(60) { |minute| {threads: 10 * [minute, 20].min} } },
      ended_limit: -> { leaking(40, until_minute: 20, **LIMIT) }, none: -> { level(20) }, exact: -> { series(20) { {} } }, unknown: -> { leaking(10) },
      first: -> { leaking(1) }, second: -> { leaking(2) },
      sparse_malloc: -> { series(20) { |minute| {malloc: (30 if minute > 12)} } }, older: -> { series(20, majors: nil, "objects" => nil, "reason" => nil) { {} } },
      ring: -> { Series.new([leaking(20).to_a.last]) }, single: -> { leaking(1, "reason" => "exit") }, free: -> { series(20) { |minute| {free: 4 + minute} } },
      shrinks: -> { series(20) { |minute| {slots: 60 - minute} } }, small: -> { series(48) { |minute| {slots: 20 + (0.001 * minute)} } },
      workers: -> { [1, 2, 3].map { |pid| noisy(40, pid: pid, seed: pid) } }, one_of_four: -> { [level(20, pid: 1), level(20, pid: 2), leaking(20, pid: 3), level(20, pid: 4)] },
      free_workers: -> { [1, 2].map { |pid| series(20, pid: pid) { |minute| {free: 4 + minute} } } }, apart: -> { [leaking(20, pid: 1, "host" => "a"), leaking(20, pid: 2, "host" => "b")] },
      **GUARDED.to_h { |guard, size| [guard, -> { guarded(guard, &size) }] }, few: -> { sparse },
      load: -> { busier }, **ForcedWork::WHY.keys.to_h { |why| [:"majors_#{why}", -> { series(20, majors: false, "forced" => {**FORCED, "last" => why.to_s}) { {} } }] }
    }
  end

  def guarded(guard) = series(guard == :steps ? 22 : 48) { |minute| {slots: 20 + yield(minute), rows: ->(build) { kept(build, LEAK, minute, 4) }} }

  # Two major GCs in the second quarter of the time.
  def sparse
    ring = []
    Series.new([1, 3, 5, 9, 13, 19, 27, 38, 53, 58, 63, 68, 73, 78, 83, 88, 93, 97, 101].map do |minute|
      profile(ring, minute, {majors: true, every: 60, limit: {}}, {}, slots: 20 + minute, rows: ->(build) { kept(build, LEAK, minute, 16) })
    end)
  end

  # Ever more work each minute, which memory follows.
  def busier
    done = 0
    ring = []
    Series.new((1..48).map do |minute|
      done += rate = 1000 * (23 + (2 * minute))
      ring << [minute * EACH, Build::STARTED + (minute * 60 * SECOND), done, (20 * MIB) + (rate * MIB / 4000), 30 * MIB]
      Build.new(majors: ring.dup, "taken_ns" => Build::STARTED + (minute * 60 * SECOND), "objects" => done, "reason" => "periodic", "account" => account(20, 30, 0, 4)).profile
    end)
  end

  UNITS = Layout::UNITS.each_with_index.to_h { |unit, index| [unit, 1024.0**index] }.freeze
  SIZE = /([+-]?[\d.]+) (B|[KMGTP]iB)/
  TIME = /(?:\d+ (?:d|h|min|s) ?)+|\d+\.\d s/

  # Bytes, and how far they may be off: half of the last digit.
  def bytes(text) = text.match(SIZE).then { |match| match[1].to_f * UNITS.fetch(match[2]) }
  def assert_bytes(expected, text) = text.match(SIZE).then { |match| assert_in_delta(expected, bytes(text), 0.051 * UNITS.fetch(match[2]) * (match[2] == "B" ? 10 : 1), text) }
  def seconds(text) = text.scan(/([\d.]+) (d|h|min|s)/).sum { |number, unit| number.to_f * {"d" => 86_400, "h" => 3600, "min" => 60, "s" => 1}.fetch(unit) }

  def assert_time(expected, text)
    slack = text.include?(" d") ? 3600 : (text.include?(" h") ? 60 : 1)
    assert_in_delta(expected, seconds(text), slack, text)
  end

  def size_or_count(expected, text, bytes) = bytes ? assert_bytes(expected, text) : assert_equal(expected.round, text.delete(",").to_i)

  # --- checks that hold of any diagnosis ---

  def check(diagnosis, name)
    data = JSON.parse(JSON.generate(diagnosis.to_h), symbolize_names: true)
    check_sentence(diagnosis, data, name)
    check_evidence(diagnosis, data)
    check_paragraphs(diagnosis, data)
    check_next(diagnosis, data)
    check_look(diagnosis, name)
  end

  STARTS = {confirmed: "Leak (confirmed): ", likely: "Leak (likely): ", grows: "Grows (certain): ", ended: "Ended: ", none: "No leak found. ", unknown: "Cannot tell: "}.freeze

  def check_sentence(diagnosis, data, name)
    sentence = data[:sentence]
    assert(sentence.start_with?(STARTS.fetch(diagnosis.state)), "#{name}: #{sentence}")
    check_growth(diagnosis, data, sentence) if diagnosis.growing.any?
    assert_equal(diagnosis.state == :likely, sentence.include?(" to fill looks the same."), sentence)
    assert_time(data[:seconds], sentence[/takes longer than (#{TIME}) to fill/, 1]) if diagnosis.state == :likely
    check_guard(diagnosis, sentence) if diagnosis.state == :grows
    assert_bytes(data[:detectable_per_hour], sentence[/One of (.*?)\/hour/, 1]) if diagnosis.state == :none
    return unless (place = sentence[/(?:Most of it is from|The line that grew most so far is) (\S+\d)/, 1])

    assert(data[:findings].first[:lines].any? { |line| line.values_at(:app_line, :line).compact.any? { |one| one.include?(place) } }, sentence)
  end

  def check_growth(diagnosis, data, sentence)
    assert_time(data[:seconds], sentence[/ in (#{TIME})/, 1])
    if (counted = sentence.match(/(threads|fibers) grew from ([\d,]+) to ([\d,]+)/))
      count = data[:counts].find { |one| one[:kind] == counted[1] }
      before, after = counted.captures.last(2).map { |number| number.delete(",").to_i }
      assert(before >= count[:first] && after >= before, sentence)
      assert_equal(count[:last], after, sentence) unless diagnosis.state == :ended
      return assert_in_delta(count[:grew], after - before, 0.15 * count[:grew], sentence)
    end

    assert_bytes(data[:grew], sentence[/grew by (.*?) in/, 1])
    assert_close(data[:counts].select { |count| diagnosis.grown_bytes.map { |one| one.kind.to_s }.include?(count[:kind]) }.sum { |count| count[:grew] }, data[:grew])
    check_rate(data, sentence) if diagnosis.leak?
    assert_equal(Time.at(diagnosis.growing.first.verdict.ended_at).utc.strftime("%T"), sentence[/until (\S+) UTC/, 1]) if diagnosis.state == :ended
  end

  def check_rate(data, sentence)
    rate = sentence[/, (\+.*?) an hour/, 1]
    assert_bytes(data[:bytes_per_hour], rate)
    # The amount, the time and the rate of one sentence agree.
    assert_in_delta(data[:grew] / data[:seconds] * 3600, data[:bytes_per_hour], 0.15 * data[:bytes_per_hour], sentence)
    low, high = data[:interval_per_hour]
    assert(low <= data[:bytes_per_hour] && data[:bytes_per_hour] <= high, sentence)
    range = sentence[/an hour \((.*?)\)/, 1] or return
    limits = range.match(/([+-]?[\d.]+) – ([+-]?[\d.]+) (\S+)/).captures
    [low, high].zip(limits) { |limit, text| assert_bytes(limit, "#{text} #{limits.last}") }
    refute_equal(*limits.first(2))
  end

  def check_guard(diagnosis, sentence)
    reason = diagnosis.guard ? ProcessDiagnosisText::GUARDS.fetch(diagnosis.guard) : ProcessDiagnosisText::SHORT
    assert(sentence.include?(" Not yet a leak: #{reason}. Ask again in "), sentence)
    assert_time(diagnosis.seconds_to_know, sentence[/Ask again in (#{TIME})/, 1])
  end

  def check_evidence(diagnosis, data)
    data[:evidence].each do |one|
      if (counted = one.match(/\A(.+?)(?:, at quarters of the time)?: (.*) \(exact, ([\d,]+) points?\)\.\z/))
        check_counted(diagnosis, counted, one)
      elsif one.start_with?("With ")
        check_piled_up(diagnosis, one)
      elsif one.include?("limit") || one.include?("machine")
        check_limit(diagnosis, data, one)
      else
        check_rss(diagnosis, one)
      end
    end
    counts = diagnosis.growing.reject(&:bytes?).then { |threads| threads.any? ? threads : diagnosis.grown_bytes }
    assert_equal(diagnosis.growing.any? ? counts.size : [:slots, :malloc].count { |kind| diagnosis.counts[kind] }, data[:evidence].count { |one| one.include?("(exact, ") })
    assert_equal(!diagnosis.seconds_to_limit.nil?, data[:evidence].any? { |one| one.include?("at the growth rate of RSS") })
  end

  def check_counted(diagnosis, counted, text)
    count = diagnosis.counts.all.find { |one| ProcessDiagnosisText::COUNTS.fetch(one.kind).casecmp?(counted[1]) }
    assert_equal(count.points.size, counted[3].delete(",").to_i, text)
    sizes = counted[2].split(", ")
    assert_equal([count.points.size, 5].min > 1 ? 5 : 1, sizes.size, text)
    [count.points.first, count.points.last].zip([sizes.first, sizes.last]) { |point, size| size_or_count(point.size, size, count.bytes?) }
    # Each is the size at a moment near its quarter.
    from, to = count.points.first.seconds, count.points.last.seconds
    gap = count.points.each_cons(2).map { |one, other| other.seconds - one.seconds }.max.to_f
    sizes.each_with_index do |size, quarter|
      near = count.points.select { |point| (point.seconds - from - ((to - from) * quarter / 4.0)).abs <= (gap / 2) + 1 }
      assert(near.any? { |point| count.bytes? ? (bytes(size) - point.size).abs <= 0.051 * UNITS.fetch(size[SIZE, 2]) : size.delete(",").to_i == point.size.round }, "#{text}: #{size}")
    end
  end

  def check_piled_up(diagnosis, text)
    infos = diagnosis.series.infos
    kind = diagnosis.growing.first.kind
    before, now = [infos.first, infos.last].map { |info| info.alive[kind].count }
    assert_equal([now - before, before, now].map(&:to_s), text.match(/With ([\d,]+) more #{kind} \(([\d,]+) → ([\d,]+)\)/).captures.map { |count| count.delete(",") }, text)
    assert_bytes(infos.last.account.rss - infos.first.account.rss, text[/RSS grew by (\S+ \S+):/, 1])
    parts = text[/: (.*)\.\z/, 1].scan(/(\d[\d.]* [KMG]?i?B) ([^,]+(?:\([^)]*\))?)/)
    parts.each { |size, name| assert_bytes(infos.last.account.since(infos.first.account).fetch(Account::PARTS.key(name)), size) }
  end

  def check_limit(diagnosis, data, text)
    assert(diagnosis.grows?, text)
    limit = diagnosis.limit
    assert_equal(limit.machine, text.include?("The memory of the machine"), text)
    assert_bytes(limit.bytes, text[/\((.*?),/, 1])
    assert_bytes(limit.used, text[/, (\S+ \S+) used/, 1])
    # RSS grows as what is counted does in these series.
    assert_close([limit.bytes - limit.used, 0].max / data[:bytes_per_hour] * 3600, data[:seconds_to_limit], 0.05)
    assert_time(data[:seconds_to_limit], text[/reached in (#{TIME})/, 1])
  end

  def check_rss(diagnosis, text)
    grew = diagnosis.judged.sum { |series| series.infos.last.account.rss - series.infos.first.account.rss }
    refute(diagnosis.leak?, text)
    assert_bytes(grew.abs, text[/RSS (?:grew|fell) by (\S+ \S+)/, 1])
    assert_equal(grew.negative?, text.start_with?("RSS fell"), text)
    part = text[/; .*: (\+\S+ \S+?)\./, 1]
    assert_bytes(diagnosis.judged.sum { |series| %w[slots_free unattributed].map { |name| series.infos.last.account[name] - series.infos.first.account[name] }.max }, part) if part
  end

  # --- paragraphs ---

  def check_paragraphs(diagnosis, data)
    text = diagnosis.text(width: 300).to_s
    headings = text.lines.grep(/\A\d\. /)
    shown = diagnosis.text.shown
    assert_equal(shown.size, headings.size, text)
    shown.zip(headings, data[:findings]) do |finding, heading, of_data|
      assert_bytes(of_data[:bytes], heading[/(\+\S+ \S+?),? /, 1])
      assert_close(of_data[:lines].sum { |line| line[:bytes] }, of_data[:bytes], 1e-6)
      assert_in_delta(100 * finding.space / data[:findings].sum { |one| one[:bytes] }, heading[/\(([\d.]+)% of the/, 1].to_f, 0.051)
      assert_equal(!of_data[:holder].nil? && !finding.lost?, heading.match?(/\A\d\. `\S+` retains/), heading)
      check_rows(diagnosis, finding, of_data, text[/^#{Regexp.escape(heading)}(.*?)(?=\n\n|\z)/m, 1])
    end
    # Lines have what the process has, or less, as far as samples can say.
    found = data[:findings].sum { |one| one[:bytes] }
    error = Math.sqrt(diagnosis.findings.flat_map(&:lines).sum { |line| line.variance.abs })
    assert(found <= data[:grew] + (2 * error), "#{found} > #{data[:grew]}") if shown.any?
  end

  def check_rows(diagnosis, finding, of_data, paragraph)
    rows = paragraph.lines.grep(/^ *\+\d/)
    assert_equal([of_data[:lines].size, 5].min, rows.size, paragraph)
    rows.zip(of_data[:lines], finding.lines) do |row, line, grown|
      cells = row.strip.split(/ {2,}/)
      assert_bytes(line[:bytes], cells[0])
      low, high = cells[1].scan(/[+-]?[\d.]+/)
      refute_equal(low, high, row) unless cells[1] == "exact"
      assert(grown.variance.zero?, row) if cells[1] == "exact"
      assert_in_delta(grown.space * 3600 / diagnosis.lines.seconds, bytes(cells[2]), 0.06 * UNITS.fetch(cells[2][SIZE, 2]), row) if diagnosis.grows?
      refute(row.scan(SIZE).size > 2, row) unless diagnosis.grows?
      assert_equal([line[:objects].round, line[:samples]], cells[diagnosis.grows? ? 3 : 2, 2].map { |cell| cell.delete(",").to_i }, row)
    end
  end

  # --- next steps ---

  def check_next(diagnosis, data)
    text = diagnosis.text(width: 40).to_s
    assert_equal(diagnosis.text.steps.map(&:to_s), data[:next])
    commands = text.lines.grep(/^    (?:heapsample|bpftrace) /).map(&:strip)
    assert_equal(diagnosis.text.steps.filter_map(&:command).sort, commands.sort, text)
    commands.each { |command| check_command(diagnosis, command) }
    assert_equal(diagnosis.state == :none, data[:next].empty?, data[:next].inspect)
    assert_equal(diagnosis.text.steps.size, text.scan(/^Next: /).size, text)
  end

  # A command can be pasted: the shell splits it into words that the command's own options take.
  def check_command(diagnosis, command)
    name, *arguments = Shellwords.split(command)
    return assert_equal(["bpftrace", "-e"], [name, *arguments.first(1)]) if name == "bpftrace"

    called = Tool::Commands.named(arguments.shift).new
    assert_equal([diagnosis.info.process_id.to_s], called.parser.permute(arguments), command)
  end

  # --- looks ---

  def check_look(diagnosis, name)
    [40, 80, 200].each do |width|
      text = diagnosis.text(width: width).to_s
      text.each_line(chomp: true) { |line| assert(line.length <= width || line.start_with?("    ") || !line.include?(" "), "#{name}, #{line.length} > #{width}: #{line}") }
      check_words(text, name)
    end
    check_words(Diagnosis.new(diagnosis.members).text.to_markdown, name)
  end

  def check_words(text, name)
    refute(text.match?(/NaN|Infinity|\bnil\b|#<| {3,}\z|-0\.0|([+-]?[\d.]+) – \1 /), "#{name}: #{text}")
    refute(text.match?(/\b1 (?:profiles|points|processes|smaller findings)\b/), "#{name}: #{text}")
  end

  def diagnose(&build) = Diagnosis.new(instance_exec(&build).then { |built| built.is_a?(Series) ? [built] : built })

  cases.each do |name, build|
    test "#{name}: each sentence has the figures of its data" do
      diagnose(&build).each { |process| check(process, name) }
    end
  end

  # --- what the cases are of ---

  def self.state_of(state, *names, kind: nil, guard: nil)
    names.each do |name|
      test("#{name}: #{[state, kind, guard].compact.join(", ")}") do
        first = diagnose(&self.class.cases.fetch(name)).first
        assert_equal([state, kind, guard].compact, [first.state, (first.kind if kind), (first.guard if guard)].compact)
      end
    end
  end

  state_of(:likely, :likely, :noisy, :retained, :two_leaks, :limit, :over_limit, :no_line, :ring, :workers, :one_of_four, :apart, kind: :objects)
  state_of(:likely, :malloc_shrinks, :malloc_too)
  state_of(:likely, :native, :malloc, :lost, kind: :native)
  state_of(:likely, :mapped, kind: :mapped)
  state_of(:likely, :pool, kind: :threads)
  state_of(:confirmed, :threads, :threads_and_bytes, kind: :threads)
  state_of(:confirmed, :fibers, kind: :fibers)
  state_of(:ended, :ended, :ended_long_ago, :ended_threads, :ended_limit)
  state_of(:none, :none, :exact, :free, :free_workers, :shrinks, :small)
  state_of(:unknown, :unknown, :first, :second, :sparse_malloc, :older, :single, *ForcedWork::WHY.keys.map { |why| :"majors_#{why}" })
  state_of(:grows, :waits)
  [*GUARDED.keys, :few, :load].each { |guard| state_of(:grows, guard, guard: guard) }

  test "every state, every kind, every guard and every reason has a case" do
    all = self.class.cases.values.flat_map { |build| diagnose(&build).to_a }
    assert_equal(ProcessDiagnosis::STATES.sort, all.map(&:state).uniq.sort)
    assert_equal(%i[fibers mapped native objects threads], all.filter_map(&:kind).uniq.sort)
    # What is small is level, so no sentence names this guard.
    named = Verdict::GUARDS - [:small]
    assert_equal(named.sort, all.filter_map(&:guard).uniq.sort)
    assert_equal(named.sort, ProcessDiagnosisText::GUARDS.keys.sort)
  end

  # --- words ---

  def text_of(name) = flat(diagnose(&self.class.cases.fetch(name)).text(width: 300))

  test "without major GCs the reason is said, where it is one, and what helps" do
    reasons = ForcedWork::WHY.to_h { |why, words| [why, [text_of(:"majors_#{why}"), words]] }
    reasons.each { |why, (text, words)| assert_equal(!%i[ended not_needed].include?(why), text.include?("Cannot tell: no major GC has ended since sampling began; #{words}."), text) }
    helps = reasons.transform_values { |text, _| text[/\(GC\.enable\)|Raise the share/] }.compact
    assert_equal({refused: "(GC.enable)", over_budget: "Raise the share"}, helps)
    assert(text_of(:majors_none).include?("Next: Set diagnose=1% in RUBY_HEAP_SAMPLE"))
    assert(text_of(:older).include?("Cannot tell: an older version wrote the profiles, and they list no major GCs."), text_of(:older))
  end

  test "too few major GCs: how many there are, how many are needed, and when to ask again" do
    assert(text_of(:unknown).include?("Cannot tell: 10 of 17 major GCs. Ask again in 7 min 0 s. The line that grew most so far is cart.rb:12 `Cart#add` (+6.0 MiB)."), text_of(:unknown))
    assert(text_of(:first).include?("Cannot tell: 1 of 17 major GCs."), text_of(:first))
    assert(text_of(:sparse_malloc).include?("8 of 17 major GCs. Ask again in 9 min 0 s."), text_of(:sparse_malloc))
  end

  test "two independent leaks are two paragraphs, each with its holder, its amount and its next step" do
    one, two = two_leaks.diagnosis.text.to_s.split(/^2\. /).then { |first, second| [first[/^1\. .*/m], second] }
    step = ->(holder, class_name) { "Next: Look at what is added to `#{holder}` and never removed.\n    heapsample why 4711 --class '#{class_name}'\n" }
    assert(one.include?("`Cart::ALL` retains +13.0 MiB, +60.0 MiB an hour (66.7%") && one.include?(step["Cart::ALL", "String"]), one)
    assert(two.include?("`Report::ROWS` retains +6.5 MiB, +30.0 MiB an hour (33.3%") && two.include?(step["Report::ROWS", "Row"]), two)
  end

  test "a lost block names the library and the line, not a holder" do
    text = text_of(:lost)
    assert(text.include?("1. `deflateInit2_` of `libz.so.1` allocated +") && text.include?(", and no reference to it was found"), text)
    assert(text.include?("Next: Find the call that allocates without a matching free at cart.rb:12 `Cart#add`. heapsample top 4711 --by function --kind malloc"), text)
  end

  test "threads that leak are what is said and what is done, also where memory leaks with them" do
    text = text_of(:threads_and_bytes)
    assert(text.include?("Leak (confirmed): threads grew from ") && text.include?("Next: Look for threads that are started at pool.rb:7 and never end"), text)
    refute(text.include?("cart.rb"), text)
  end

  test "of several processes the head names the worst alone, and all where they leak together" do
    assert(text_of(:one_of_four).start_with?("Diagnosis: 4 processes (1, 2, 3, 4), the worst is 3, puma: worker N, 80 profiles, "), text_of(:one_of_four))
    assert(text_of(:workers).start_with?("Diagnosis: 3 processes (1, 2, 3), puma: worker N, 120 profiles, "), text_of(:workers))
    assert(text_of(:single).start_with?("Diagnosis: process 4711, puma: worker 4711, 1 profile, 2026-"), text_of(:single))
  end

  test "Markdown has the findings that the text has, and commands in code spans" do
    assert_equal(2, Diagnosis.new([two_leaks]).text.to_markdown.scan(/^- \+/).size)
    assert(Diagnosis.new([two_leaks]).text.to_markdown.include?("never removed. `heapsample why 4711 --class 'Row'`"))
    refute(Diagnosis.new([leaking(10)]).text.to_markdown.match?(/^- /))
  end

  test "commands name the folder of the profiles so that a shell takes it" do
    {"/var/tmp/heap" => nil, "/tmp/it's here; rm -rf" => nil, "-x" => "./-x", "größe/$(id)" => nil, "." => nil}.each do |folder, named|
      folder, path = named || folder, "#{folder}/1.pb.gz"
      series = leaking(20)
      series.define_singleton_method(:paths) { [path] }
      command = series.diagnosis.text.steps.first.command
      assert_equal(["heapsample", "why", folder, "--class", "String"], Shellwords.split(command), command)
    end
    unsafe = leaking(20)
    unsafe.define_singleton_method(:paths) { ["/tmp/\e[31m/1.pb.gz"] }
    assert_nil(unsafe.diagnosis.text.steps.first.command)
  end
end
