# frozen_string_literal: true

# The diagnosis, on series that are made up; real programs judge it in test/zoo.

require "json"
require "stringio"
require_relative "../../testing"
require_relative "builds"

class DiagnosisTest < Test
  include Builds
  include HeapSample

  MIB = 1 << 20
  SECOND = 1_000_000_000
  GC_EACH = 10 # GCs between two profiles, one of which is a major one
  UNIT = 64 * 1024

  APP = "/srv/app/cart.rb:12 Cart#add"
  LEAK = ["/gems/gems/rack-3.1.7/lib/rack/body.rb:5 Rack::Body#read", APP, "/srv/app/main.rb:3 <main>"].freeze
  CHURN = ["/srv/app/page.rb:9 Page#render", "/srv/app/main.rb:3 <main>"].freeze

  # A profile each minute; +majors+: whether, or how many seconds before, a major GC ended.  The block gives a Hash for profile +number+ (from 1 on): rows: what it does with a Build; live,
  # free, stacks: MiB of the account.
  def series(count, gc_each: GC_EACH, majors: true, **meta)
    Series.new(Array.new(count) do |index|
      number = index + 1
      now = Build::STARTED + number * 60 * SECOND
      state = yield number
      build = Build.new(interval: UNIT, **{
        "taken_ns" => now, "title" => "ruby app.rb",
        "gc" => {"count" => number * gc_each, "major" => majors ? number : 1, "minor" => number * (gc_each - 1),
                 "last_major_ns" => majors ? now - (majors == true ? 1 : majors) * SECOND : Build::STARTED + SECOND, "last_major_gc" => majors ? number * gc_each : 1},
        "account" => account(**state.except(:rows))
      }.merge(meta))
      state[:rows]&.call(build)
      build.profile
    end)
  end

  def account(live: 20, free: 4, stacks: 0.2, malloc: 10, code: 10, mapped: 0)
    parts = {"slots_live" => live, "slots_free" => free, "malloc_live" => malloc, "malloc_waste" => 1, "stacks" => stacks, "code_and_files" => code, "unattributed" => mapped}
    parts.transform_values { |size| (size * MIB).to_i }.then { |sizes| sizes.merge("rss" => sizes.values.sum) }
  end

  # +each+ samples born before each of the profiles up to +number+, all of which are there at profile +number+.
  def kept(build, stack, number, each, class_name: "String", from: 1)
    (from..number).each { |birth| build.row(stack, class_name, birth: birth * GC_EACH - 5, inuse: each) }
  end

  # So many minutes of work, of which nothing stays.
  def worked(build, minutes) = build.row(["/srv/app/view.rb:2 View#render"], "String", birth: 1, alloc: 500 * minutes)

  def leaking(count, **options)
    series(count, **options) { |number| {live: 20 + number, rows: ->(build) { kept(build, LEAK, number, 16) }} }
  end

  def diagnosis(...) = ProcessDiagnosis.new(series(...))

  test "what grows in each part of the time, and major GCs leave alive, is a leak: where, how much, how sure" do
    found = ProcessDiagnosis.new(leaking(20))
    assert_equal([:leak, :confirmed], [found.kind, found.grade])
    finding = found.findings.first
    assert_equal(["/srv/app/cart.rb", 12], [finding.app_line.path, finding.app_line.line])
    assert_equal([5, "String"], [finding.line.line, finding.class_name])
    assert((finding.grew / (16 * UNIT * 16)).between?(0.8, 1.2), finding.grew.inspect)
    low, high = finding.interval
    assert(low < finding.grew && finding.grew < high)
  end

  test "the rate in the sentence is its bytes over its time" do
    sentence = ProcessDiagnosis.new(leaking(20, majors: 50)).text.sentence
    mib, minutes, seconds, hourly = sentence.match(/ ([\d.]+) MiB more after (?:(\d+) min)? ?(?:([\d.]+) s)? \(\+([\d.]+) MiB\/hour\)/).captures.map(&:to_f)
    assert((mib * 3600 / (minutes * 60 + seconds) / hourly).between?(0.97, 1.03), sentence)
  end

  test "after few profiles a leak is likely, and after fewer the grade is unknown" do
    assert_equal(:likely, ProcessDiagnosis.new(leaking(8)).grade)
    few = ProcessDiagnosis.new(leaking(5))
    assert_equal([nil, :unknown, []], [few.kind, few.grade, few.findings])
    assert(few.to_s.include?("Cannot tell: this process has 5 profiles, and 6 are needed."), few.to_s)
  end

  test "the verdict is kind, grade and a sentence that begins with the grade; a likely leak may be a cache" do
    likely, confirmed = [8, 20].map { |count| ProcessDiagnosis.new(leaking(count)) }
    [[likely, :likely], [confirmed, :confirmed]].each do |found, grade|
      assert_equal([:leak, grade, found.text.sentence], found.verdict.values_at(:kind, :grade, :sentence))
      assert(found.verdict[:sentence].start_with?("Leak (#{grade}): "), found.verdict[:sentence])
    end
    doubt = /A cache that takes longer than \d+ min( \d+ s)? to fill looks the same\.\z/
    assert_equal([true, false], [likely, confirmed].map { |found| found.verdict[:sentence].match?(doubt) })
    unknown, none = ProcessDiagnosis.new(leaking(5)), diagnosis(20) { {} }
    assert_equal([[nil, :unknown], %i[steady none]], [unknown, none].map { |found| found.verdict.values_at(:kind, :grade) })
    assert_equal([true, true], [unknown.verdict[:sentence].start_with?("Cannot tell: "), none.verdict[:sentence].start_with?("No leak found: ")])
  end

  test "a leak whose line has no samples any more is told without a line" do
    found = diagnosis(20) { |number| {live: 20 + number, rows: ->(build) { kept(build, LEAK, number, 16) if number < 15 }} }
    assert(found.leak?, found.to_s)
    assert(found.text.sentence.end_with?("No line has enough samples to be named."), found.text.sentence)
    assert(found.to_h && found.text.advice.any?)
  end

  test "few samples do not confirm a leak, however long it grows" do
    found = ->(each) { diagnosis(16, interval: 4 * UNIT) { |number| {live: 20 + number * 0.5, rows: ->(build) { kept(build, LEAK, number, each) }} } }
    few, many = found[1], found[2]
    assert_equal([[:leak, :likely], [:leak, :confirmed]], [few, many].map { |one| [one.kind, one.grade] })
    assert(few.findings.first.samples < 16 && many.findings.first.samples >= 16, [few, many].map { |one| one.findings.first.samples }.inspect)
  end

  test "where no major GC looks at what stays it is growth of grade unknown, and the text says what to do" do
    found = ProcessDiagnosis.new(leaking(12, majors: false))
    assert_equal(:unknown, found.grade)
    refute(found.leak?)
    assert(found.to_s.include?("diagnose=1%"), found.to_s)
  end

  test "what comes at once is no leak" do
    found = diagnosis(20) { |number| {live: 20 + (number > 12 ? 16 : 0), rows: ->(build) { build.row(LEAK, "String", birth: 125, inuse: number > 12 ? 256 : 0) }} }
    refute(found.leak?, found.to_s)
  end

  test "what is always there in another form, and never stays, is no leak" do
    found = diagnosis(20) { |number| {live: 20 + number, rows: ->(build) { build.row(CHURN, "String", birth: number * GC_EACH - 5, inuse: 16 * number) }} }
    refute(found.leak?, found.to_s)
  end

  test "a cache that is full, and a warm-up, have levelled off" do
    found = diagnosis(20) { |number| {live: 20 + [number, 8].min * 2, rows: ->(build) { kept(build, LEAK, [number, 8].min, 16); worked(build, number) }} }
    assert_equal([:steady, :none], [found.kind, found.grade])
    assert(found.to_s.include?("levelled off"), found.to_s)
  end

  test "a leak that rests while there is nothing to do is one still" do
    found = diagnosis(20) { |number| [number, 10].min.then { |day| {live: 20 + day * 2, rows: ->(build) { kept(build, LEAK, day, 16); worked(build, day) }} } }
    assert_equal(:leak, found.kind)
    assert(found.leak?, found.to_s)
  end

  test "a pool that has grown is no leak that rests: what it allocated itself was no work" do
    pool = lambda do |count|
      diagnosis(count) do |number|
        full = [number, 10].min
        {live: 20 + full * 2 + number * 0.15, rows: ->(build) { kept(build, LEAK, full, 16); build.row(CHURN, "String", birth: 1, alloc: number) }}
      end
    end
    assert(pool[10].leak?, pool[10].to_s)
    [14, 16, 20].each { |count| assert_equal([:steady, :none], [pool[count].kind, pool[count].grade]) }
  end

  test "RSS that rises alone bears out no leak of a few samples" do
    rising = ->(each) { diagnosis(14) { |number| {live: 20 + each * number, free: 4 + 0.2 * number, rows: ->(build) { kept(build, LEAK, number, 1) }} } }
    assert(rising[0.2].leak? || rising[0.2].unknown?, rising[0.2].to_s)
    assert(!rising[0.01].leak? && !rising[0.01].unknown?, rising[0.01].to_s)
  end

  test "a few samples are confirmed by RSS and what is in use alone where these grow in every part of the time" do
    found = lambda do |&live|
      diagnosis(14, interval: 4 * UNIT) do |number|
        {live: 20 + live.(number) / 3.0, rows: ->(build) { (1..number).step(2) { |birth| build.row(LEAK, "String", birth: birth * GC_EACH - 5, inuse: 1) } }}
      end
    end
    assert_equal([:leak, :likely], found.call { |number| number }.then { |one| [one.kind, one.grade] })
    assert_equal([:leak, :unknown], found.call { |number| number < 5 ? number : [5, number - 3.5].max }.then { |one| [one.kind, one.grade] })
  end

  test "what fills ever more slowly is no leak, though it never ends" do
    sizes = (0..20).map { |number| (60 * Math.log(1 + number)).round }
    found = diagnosis(20) do |number|
      {live: 20 + sizes[number] / 40.0, rows: lambda { |build|
        (1..number).each { |birth| build.row(LEAK, "String", birth: birth * GC_EACH - 5, inuse: sizes[birth] - sizes[birth - 1]) }
        worked(build, number)
      }}
    end
    assert(!found.leak? && !found.unknown?, found.to_s)
  end

  test "a leak is one of a line: a smaller one that grows as well does not retain its verdict" do
    found = diagnosis(20) do |number|
      {live: 20 + [number, 9].min + (number > 16 ? 6 : 0), rows: lambda { |build|
        ([number - 8, 1].max..number).each { |birth| build.row(LEAK, "String", birth: birth * GC_EACH - 5, inuse: 40) } # a cache of nine minutes
        kept(build, ["/srv/app/table.rb:7 Table#grow"], number, 1)
        worked(build, number)
      }}
    end
    refute(found.leak?, found.to_s)
  end

  test "what few samples made sure of lasts no longer than RSS grows" do
    fills = lambda do |count|
      diagnosis(count, interval: 8 * UNIT) do |number|
        {live: 20 + [number, 13].min / 2.0, rows: lambda { |build|
          [*1..13, 18].select { |birth| birth <= number }.each { |birth| build.row(LEAK, "String", birth: birth * GC_EACH - 5, inuse: 1) }
          worked(build, number)
        }}
      end
    end
    assert_equal([:leak, :likely], [fills[14].kind, fills[14].grade])
    assert_equal([:leak, :unknown], [fills[18].kind, fills[18].grade])
  end

  test "a line that grows while RSS and what is in use have stopped has the grade unknown" do
    stops = diagnosis(8) { |number| {live: 20 + [number, 5].min, rows: ->(build) { kept(build, LEAK, number, 16); worked(build, number) }} }
    assert_equal([:leak, :unknown], [stops.kind, stops.grade])
  end

  test "what was sure ends where RSS and what is in use have stopped, whatever the line does" do
    stops = ->(count) { diagnosis(count) { |number| {live: 20 + [number, 10].min, rows: ->(build) { kept(build, LEAK, number, 16); worked(build, number) }} } }
    assert_equal([:leak, :likely], stops[10].then { |found| [found.kind, found.grade] })
    assert_equal([:leak, :unknown], stops[20].then { |found| [found.kind, found.grade] })
  end

  test "what takes the place of what dies elsewhere is no leak, and a leak beside it is one" do
    replaced = lambda { |build, number|
      build.row(["/srv/app/load.rb:4 Table.load"], "Hash", birth: 3, inuse: 1000 - number * 12)
      kept(build, ["/srv/app/page.rb:10 Page#update", "/srv/app/main.rb:3 <main>"], number, 12, class_name: "Hash")
      worked(build, number)
    }
    found = diagnosis(20) { |number| {rows: ->(build) { replaced.call(build, number) }} }
    assert(!found.leak? && !found.unknown?, found.to_s)
    passing = ->(build, number) { build.row(CHURN, "Hash", birth: number * GC_EACH - 5, inuse: number < 13 || number == 18 ? 160 : 0) }
    found = diagnosis(20) { |number| {live: 20 + number / 8.0, rows: ->(build) { replaced.call(build, number); passing.call(build, number); kept(build, LEAK, number, 16) }} }
    assert(found.leak?, found.to_s)
  end

  test "a little that stays beside a great peak of memory does not explain it" do
    found = diagnosis(20) do |number|
      {live: 20, free: 4 + (number > 8 ? 60 : 0), rows: lambda { |build|
        (1..number).each { |birth| build.row(LEAK, "String", birth: birth * GC_EACH - 5, inuse: 2) }
        worked(build, number)
      }}
    end
    assert(!found.leak? && !found.unknown?, found.to_s)
  end

  test "a block in a line and the method around it are one finding" do
    found = diagnosis(20) do |number|
      {live: 20 + number, rows: ->(build) { kept(build, LEAK, number, 8); kept(build, ["/srv/app/cart.rb:12 block in Cart#add", *LEAK.last(2)], number, 8, class_name: "Array") }}
    end
    assert_equal(1, found.findings.size)
  end

  test "a file that is loaded is no leak, whatever is loaded after it" do
    found = diagnosis(20) do |number|
      {live: 20 + number, rows: lambda { |build|
        (1..number).each { |file| build.row(["/srv/app/models/m#{file}.rb:1 <top (required)>", "/srv/app/cart.rb:12 Cart#add"], "String", birth: file * GC_EACH - 5, inuse: 16) }
      }}
    end
    refute(found.leak?, found.to_s)
    assert(found.to_s.include?("most of the retained memory is loaded code"), found.to_s)
  end

  test "what a program requires, a file at a time, is no leak, even where no frame of the file is known" do
    found = diagnosis(20) do |number|
      {live: 20 + number, rows: ->(build) { kept(build, ["/srv/app/cart.rb:12 Kernel#require", "/srv/app/cart.rb:12 Cart#add"], number, 16) }}
    end
    refute(found.leak?, found.to_s)
  end

  test "a cache that is full and replaces what it holds is no leak, whatever sampling makes of its size" do
    sizes = [*[20] * 5, 22, 25, 27, 26, 28, 30, 33, 34, 33, 36, 38, 39, 41, 42, 44] # samples, of which none is older than six profiles
    found = diagnosis(20) do |number|
      {live: 20 + number * 0.03, rows: lambda { |build|
        born = ([number - 5, 1].max..number).to_a
        born.each_with_index { |birth, index| build.row(LEAK, "String", birth: birth * GC_EACH - 5, inuse: (sizes[number - 1] + index) / born.size) }
      }}
    end
    assert(!found.leak? && !found.unknown?, found.to_s)
  end

  test "a queue that gets longer as the load rises, and of which nothing is old, is no leak" do
    found = diagnosis(20) do |number|
      {live: 20 + number, rows: ->(build) { ([number - 3, 1].max..number).each { |birth| build.row(LEAK, "String", birth: birth * GC_EACH - 5, inuse: 4 * birth) } }}
    end
    refute(found.leak?, found.to_s)
  end

  test "objects of one line that take the place of those of another are no leak" do
    found = diagnosis(20) do |number|
      {live: 40, rows: lambda { |build|
        build.row(CHURN, "String", birth: 1, inuse: 16 * (21 - number))
        kept(build, LEAK, number, 16)
      }}
    end
    refute(found.leak?, found.to_s)
  end

  test "what came in a few steps is no leak, what came in many is one" do
    deploys = ->(*minutes) {
      diagnosis(24) { |number|
        {live: 20 + number, rows: ->(build) {
          minutes.each { |minute|
            build.row(LEAK, "String", birth: minute * GC_EACH - 5, inuse: 200) if minute <= number
          }; worked(build, number)
        }}
      }
    }
    refute(deploys[6, 14, 20].leak?, deploys[6, 14, 20].to_s)
    assert(deploys[*(1..12).map { |number| 2 * number }].leak?, deploys[*(1..12).map { |number| 2 * number }].to_s)
  end

  # From so many minutes on something is kept.
  def late(count, from, free: 0)
    series(count) { |number| {live: 20 + [number - from, 0].max, free: 4 + free, rows: ->(build) { kept(build, LEAK, number, 16, from: from); worked(build, number) }} }
  end

  test "what began to grow lately has the grade unknown, and never levelled off; when it has lasted it is a leak" do
    found = ProcessDiagnosis.new(late(20, 12))
    assert_equal([:leak, :unknown], [found.kind, found.grade])
    assert(found.to_s.include?("but not at first. A leak that began and a long job look the same."), found.to_s)
    assert_equal(true, ProcessDiagnosis.new(late(40, 12)).leak?)
  end

  test "what came in the second half alone began lately, though it was born evenly" do
    found = diagnosis(16) do |number|
      {live: 20, rows: lambda { |build| # what was born in the first half is of another line's at first
        (1..number).each { |birth| build.row(LEAK, "String", birth: birth * GC_EACH - 5, inuse: 12) } if number > 10
        kept(build, LEAK, number, 1) if number <= 10
        worked(build, number)
      }}
    end
    assert(found.findings.all?(&:late?) && !found.leak?, found.to_s)
  end

  test "what goes on is named, not what is larger now" do
    other = ["/srv/app/report.rb:8 Report#rows", "/srv/app/main.rb:3 <main>"]
    step = ->(build, number) { build.row(other, "Hash", birth: 175, inuse: 900) if number >= 18 }
    found = diagnosis(19) { |number| {live: 20 + number + (number >= 18 ? 60 : 0), rows: ->(build) { kept(build, LEAK, number, 16); step[build, number]; worked(build, number) }} }
    assert_equal(true, found.leak?)
    assert_equal(12, found.shown_findings.first.app_line.line)
  end

  test "a small leak of which there are many samples is named beside a large warm-up" do
    found = diagnosis(12) do |number|
      {live: 40 + [number, 6].min * 4 + number * 0.1, rows: lambda { |build|
        (3..[number, 5].min).each { |birth| build.row(CHURN, "Array", birth: birth * GC_EACH - 5, inuse: 100) }
        kept(build, LEAK, number, 4)
      }}
    end
    assert(found.leak?, found.to_s)
    assert_equal(12, found.findings.first.app_line.line)
  end

  test "a leak is named beside much code that was loaded, when that is over" do
    beside = lambda do |loads|
      diagnosis(12) do |number|
        {live: 40 + [number, loads].min * 6 + number * 0.25, rows: lambda { |build|
          (1..[number, loads].min).each { |file| build.row(["/srv/app/models/m#{file}.rb:1 <top (required)>", "/srv/app/shop.rb:3 Shop#start"], "String", birth: file * GC_EACH - 5, inuse: 100) }
          kept(build, LEAK, number, 4)
        }}
      end
    end
    assert(beside[5].leak?, beside[5].to_s)
    assert_equal(12, beside[5].shown_findings.first.app_line.line)
    refute(beside[12].leak?, beside[12].to_s)
  end

  test "a few samples confirm growth of RSS that is worth a verdict, and no less" do
    rising = lambda do |free|
      diagnosis(14) do |number|
        {live: 20 + 0.08 * number, free: 4 + free * number, rows: ->(build) { 2.step(number, 2) { |birth| build.row(LEAK, "String", birth: birth * GC_EACH - 5, inuse: 1) } }}
      end
    end
    assert_equal([:leak, :likely], [rising[0.2].kind, rising[0.2].grade])
    assert_equal([:leak, :unknown], [rising[0.05].kind, rising[0.05].grade])
  end

  test "nothing grows: steady, and how small a leak would have been found" do
    found = diagnosis(20) { |number| {live: 20 + number % 2, rows: ->(build) { build.row(CHURN, "String", birth: number * GC_EACH - 5, inuse: 30) }} }
    assert_equal([:steady, :none], [found.kind, found.grade])
    assert(found.to_s.match?(/No leak found: RSS is .*\n\n.*A steady leak of \d+\.\d MiB\/hour or more on one line would have been found/m), found.to_s)
  end

  PEAK = ["/gems/gems/csv-3.3.0/lib/csv.rb:7 CSV.read", "/srv/app/import.rb:4 Import#run", "/srv/app/main.rb:3 <main>"].freeze

  # Peaks of memory, each higher, the last of them while the last profiles are taken; RSS stays at the highest.
  def with_peaks(count = 20)
    series(count) do |number|
      live, highest = [number, number.downto(1).find { |one| one % 6 < 2 && one >= 6 }].map { |one| one && one % 6 < 2 && one >= 6 ? 20 + 10 * (one / 6) : 20 }
      {live: live, code: 10 + highest - live, rows: ->(build) { build.row(PEAK, "CSV::Row", birth: number * GC_EACH - 5, inuse: (live - 20) * MIB / UNIT) if live > 20 }}
    end
  end

  test "peaks that come and go, ever higher: bloat, and whose the highest was, also while it lasts" do
    [18, 19, 23].each do |count|
      found = ProcessDiagnosis.new(with_peaks(count))
      assert_equal(:bloat, found.kind)
      assert_equal("/srv/app/import.rb", found.peak.line.path)
      text = found.text(root: "/srv").to_s.tr("\n", " ")
      assert(text.include?("because of peaks of memory, the largest at app/import.rb:4"), text)
      assert(text.match?(/MiB were in use, .* of it made at app/), text)
    end
  end

  test "RSS that rises while what is in use does not: fragmentation, or bloat" do
    assert_equal(:fragmentation, diagnosis(20) { |number| {free: 4 + number} }.kind)
    assert_equal(:bloat, diagnosis(20) { |number| {free: 4 + (number > 10 ? 2 : 0), code: number > 10 ? 15 : 10} }.kind)
  end

  test "fragmentation of more than RSS rose by, for what lives shrank, is no part of that" do
    text = diagnosis(20) { |number| {free: 4 + number, live: 30 - 0.4 * number} }.text(width: 200).to_s
    assert(text.match?(/No leak found: RSS grew by 9\.\d MiB in .*, and free memory between live objects by 15\.\d MiB\./), text)
  end

  test "fragmentation names the lines that hold heap pages" do
    found = ProcessDiagnosis.new(Series.new(series(20) { |number| {free: 4 + number, rows: ->(build) { build.row(LEAK, "String", birth: 5, inuse: 40) }} }.map do |profile|
      profile.table[0][HeapSample::Columns::HOLDS_FREE, 3] = [15 * MIB, (3 * MIB)**2, 0]
      profile
    end))
    assert_equal(:fragmentation, found.kind)
    text = found.to_s.gsub(/\s+/, " ")
    assert(text.include?("held by what lives there: 15.0 MiB by") && text.include?("(none of it pinned)"), text)
  end

  test "the diagnosis has how many threads there were and are, and where they were made" do
    made = ->(count) { {"count" => count, "made" => [{"path" => "/srv/app/pool.rb", "line" => 30, "count" => count}]} }
    piling = Series.new(Array.new(20) do |index|
      now = Build::STARTED + (index + 1) * 60 * SECOND
      count = 10 + 20 * index
      build = Build.new(interval: UNIT, "taken_ns" => now, "alive" => {"threads" => made.call(count), "fibers" => made.call(0)},
                        "gc" => {"count" => 10 * index, "major" => index, "minor" => 9 * index, "last_major_ns" => now - SECOND, "last_major_gc" => 10 * index},
                        "account" => account(live: 20 + index, stacks: count / 40.0).merge("threads" => count, "fibers" => 0))
      kept(build, LEAK, index + 1, 16)
      build.profile
    end)
    assert_equal([:threads, 390, "/srv/app/pool.rb:30"], piling.diagnosis.to_h[:crowd].values_at(:kind, :now, :line))
    assert_nil(leaking(20).diagnosis.to_h[:crowd])
  end

  test "stacks of threads that grow all along are threads that pile up" do
    found = diagnosis(20) { |number| {stacks: 0.2 + number, rows: ->(build) { kept(build, LEAK, number, 16, class_name: "Thread") }} }
    assert_equal([:threads, :confirmed], [found.kind, found.grade])
  end

  test "threads that have ended, and are kept, are told from those that live" do
    kept_threads = lambda do |alive|
      series(20, "alive" => {"threads" => {"count" => alive, "made" => []}, "fibers" => {"count" => 0, "made" => []}}) do |number|
        {stacks: 0.2 + number, rows: ->(build) { kept(build, LEAK, number, 16, class_name: "Thread") }}
      end
    end
    ended = ProcessDiagnosis.new(kept_threads[3])
    assert_equal([:threads, true], [ended.kind, ended.ended_threads?])
    text = ended.to_s.gsub(/\s+/, " ")
    assert(text.start_with?("Diagnosis:") && text.include?("Leak (confirmed): threads that have ended, from ") && text.include?("A thread that has ended retains its stack"), text)
    assert(text.match?(/\+1\d\.\d MiB of it is in stacks of threads and fibers\./), text)
    assert_equal(false, diagnosis(20) { |number| {stacks: 0.2 + number, rows: ->(build) { kept(build, LEAK, number, 16, class_name: "Thread") }} }.ended_threads?) # they are not counted
  end

  test "locks and queues are no threads, though they are called Thread::Mutex and Thread::Queue" do
    %w[Thread::Mutex Thread::Queue Thread::Backtrace Enumerator::Lazy].each do |name|
      found = diagnosis(20) { |number| {live: 20 + number, rows: ->(build) { kept(build, LEAK, number, 16, class_name: name) }} }
      assert_equal([:leak, :confirmed, name], [found.kind, found.grade, found.findings.first.class_name])
    end
  end

  test "memory that C code maps by itself leaks, too, though no line is known" do
    found = diagnosis(20) { |number| {mapped: number} }
    assert_equal([:native, :confirmed, []], [found.kind, found.grade, found.shown_findings])
    text = found.to_s.gsub(/\s+/, " ")
    assert(text.match?(/Leak \(confirmed\): memory that C code maps by itself, outside Ruby's heap and malloc, grew by 1\d\.\d MiB in /), text)
    assert(text.include?("sys_enter_mmap /pid == "), text)
    assert_equal(:likely, diagnosis(8) { |number| {mapped: number} }.grade)
    assert_equal(:unknown, diagnosis(6) { |number| {mapped: number} }.grade)
    assert_equal(:none, diagnosis(20) { |number| {mapped: [number, 5].min} }.grade)
    # A line that explains half of it is named.
    lines = diagnosis(20) { |number| {live: 20 + number, mapped: 0.4 * number, rows: ->(build) { kept(build, LEAK, number, 16) }} }
    assert_equal([:leak, 5], [lines.kind, lines.shown_findings.first.line.line])
  end

  test "a request that leaves many objects behind is one finding" do
    places = Array.new(12) { |n| ["/gems/gems/g-1.0/lib/g.rb:#{n + 1} G#g#{n}", APP] }
    found = diagnosis(20) { |number| {live: 20 + number, rows: ->(build) { places.each { |stack| kept(build, stack, number, 2) } }} }
    assert_equal(1, found.findings.size)
    assert_equal(12, found.findings.first.groups.size)
  end

  test "more profiles never make a leak's verdict weaker" do
    rank = {none: 0, unknown: 1, likely: 2, confirmed: 3}
    grades = (6..30).map { |count| rank.fetch(ProcessDiagnosis.new(leaking(count)).grade) }
    assert_equal(grades.sort, grades)
  end

  test "of several processes the one that grew most is first, and judged" do
    idle = series(20, "process_id" => 1, "process_start" => "a", "title" => "puma 6: master") { {} }
    found = Diagnosis.new([idle, leaking(20, "process_id" => 2, "process_start" => "b", "parent_id" => 1)])
    assert_equal([2, 1], found.map { |process| process.info.process_id })
    assert(found.leak?)
    text = found.text(width: 80).to_s
    assert(text.start_with?("2 processes, the one that grew most first:"), text)
    assert(text.lines.all? { |line| line.chomp.length <= 80 }, text)
    assert(text.include?("puma 6: master"))
  end

  test "a process that leaks is told in a sentence where another one grew more; those of one line once" do
    loads = series(20, "process_id" => 1, "process_start" => "a") { |number| {live: 20 + 10 * [number, 8].min} }
    leaks = (2..4).map { |id| leaking(20, "process_id" => id, "process_start" => "p#{id}") }
    found = Diagnosis.new([*leaks, loads])
    assert_equal([[1, false], [2, true]], found.processes.first(2).map { |process| [process.info.process_id, process.leak?] })
    told = "Process 2: Leak (confirmed): "
    [found.to_s, found.text.to_markdown].each do |text|
      assert(text.include?(told), text)
      assert_equal(1, text.scan("Processes 3 and 4 leak there, too.").size)
    end
    alike = Diagnosis.new(leaks).to_s
    assert(alike.include?("\n\nProcesses 3 and 4 leak where process 2 does.\n\nDiagnosis: process 2"), alike)
    refute(Diagnosis.new([leaks.first, series(20, "process_id" => 9, "process_start" => "z") { {} }]).to_s.include?("Process 2"))
  end

  test "the finding that a verdict names has the grade of the verdict" do
    # The process leaks, then rests, so that the line alone is not steady any more.
    rests = diagnosis(30) { |number| [number, 16].min.then { |day| {live: 20 + day, rows: ->(build) { kept(build, LEAK, day, 16); worked(build, day) }} } }
    data = rests.to_h
    assert(rests.leak? && !rests.shown_findings.first.steady?, data.inspect)
    assert_equal(data[:verdict][:grade], data[:findings][0][:grade])
  end

  test "many processes that lived too short to be judged are one line below the table" do
    children = ->(count) { Array.new(count) { |index| series(2, "process_id" => 100 + index, "process_start" => "c#{index}") { {live: 30 + index} } } }
    parent = leaking(20, "process_id" => 2, "process_start" => "b")
    few, many = [3, 30].map { |count| Diagnosis.new([*children[count], parent]) }
    assert(few.to_s.include?("102") && !few.to_s.include?("too few profiles to judge"), few.to_s)
    text = many.to_s
    assert(text.start_with?("31 processes, the one that grew most first:"), text)
    assert(text.match?(/^and 30 with too few profiles to judge, the largest of [\d.]+ MiB$/) && !text.include?("102"), text)
    assert(many.text.to_markdown.end_with?("MiB\n") && many.text.to_markdown.include?("and 30 with too few"), many.text.to_markdown)
    assert_equal(31, many.to_h[:processes].size)
  end

  test "data and Markdown say the same, and JSON takes them" do
    found = Diagnosis.of(leaking(20))
    data = JSON.parse(JSON.generate(found.to_h))
    assert_equal(["leak", "confirmed"], data["verdict"].values_at("kind", "grade"))
    assert_equal("/srv/app/cart.rb:12 Cart#add", data["findings"][0]["app_line"])
    low, high = data["findings"][0]["interval_per_hour"]
    assert(data["findings"][0]["bytes_per_hour"].between?(low, high))
    assert(found.text.to_markdown.start_with?("## Leak (confirmed): "), found.text.to_markdown)
  end

  test "names in a profile reach no terminal as they are" do
    found = Diagnosis.of(series(20) { |number| {live: 20 + number, rows: ->(build) { kept(build, ["/srv/app/\e[31mx.rb:1 X#x\e[0m"], number, 16, class_name: "\e]0;title\a") }} })
    refute((found.to_s + found.text.to_markdown).include?("\e"))
  end

  test "in Markdown every name of a profile stands in a code span that it cannot end" do
    name = "`]x[y](http://h)<b>|``@all"
    meta = {"title" => name, "host" => name, "deploy" => name, "directory" => "/srv/app"}
    stack = ["/srv/app/#{name}.rb:1 #{name}##{name}"]
    grows = lambda do |id|
      series(20, **meta, "process_id" => id, "process_start" => "p#{id}", "host" => "#{id}#{name}") do |number|
        {live: 20 + number, rows: ->(build) { kept(build, stack, number, 16, class_name: name) }}
      end
    end
    [[grows[1]], [grows[1], grows[2]]].each do |all|
      found = Diagnosis.new(all)
      assert(found.leak?, found.to_s)
      outside = found.text.to_markdown.gsub(/(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)/m, "")
      assert(found.text.to_markdown.include?("](http") && !outside.match?(/http|<b>|@all/), outside)
      found.text.to_markdown.lines.grep(/^\|/).each { |line| assert_equal(found.text.to_markdown.lines.grep(/^\|/).first.count("|"), line.count("|")) }
    end
  end

  # --- a Course ---

  test "a Course: what is kept, and in which part it came" do
    saw = Course.new((0..12).to_a, [1, 9, 2, 9, 3, 9, 4, 9, 5, 9, 6, 9, 7])
    assert_equal([1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7], saw.kept)
    assert(saw.steady?)
    refute(Course.new((0..12).to_a, [1] * 6 + [9] * 7).steady?, "a step")
    refute(Course.new((0..12).to_a, (0..12).map { |n| 9 * (1 - Math.exp(-n / 2.0)) }).steady?, "what levels off")
    refute(Course.new((0..12).to_a, [5] * 13).steady?, "level")
  end

  # --- GcClock ---

  test "births have the time of their GC, by the profiles and by the list that they have" do
    rough = leaking(10).infos
    assert_equal(60.0, GcClock.new(rough).seconds(10).round(1))
    assert_equal(30.0, GcClock.new(rough).seconds(5).round(1))
    listed = leaking(10, "gc" => {"count" => 100, "major" => 1, "last_major_ns" => Build::STARTED + SECOND, "times" => [[5, (Build::STARTED / 1_000_000) + 3000, 0]]}).infos
    assert_equal(3.0, GcClock.new(listed.last(1)).seconds(5).round(1))
  end

  # --- containers ---

  TABLE = ["!/usr/bin/ruby rb_st_init_existing_table_with_size", "!/usr/bin/ruby rebuild_table", "/srv/app/cart.rb:14 Hash#[]=", "/srv/app/cart.rb:14 Cart#add"].freeze

  test "a Hash whose block gets larger keeps what its lines make" do
    found = diagnosis(20) do |number|
      {live: 20 + number, rows: lambda { |build|
        kept(build, LEAK, number, 16)
        build.blocks(TABLE, "ruby", 16 * 1024 * 2**(number / 4), birth: number / 4 * 4 * GC_EACH, inuse: 1)
      }}
    end
    keeper = found.findings.first.keeper
    assert_equal(["Hash", "/srv/app/cart.rb", 14], [keeper.what, keeper.line.path, keeper.line.line])
    assert(found.to_s.include?("Retained in the Hash that grows at"), found.to_s)
  end

  test "a table of constants is called so" do
    table = %w[rb_id_table_insert const_tbl_update const_set rb_const_set rb_struct_s_def].map { |name| "!/usr/bin/ruby #{name}" }
    found = diagnosis(20) do |number|
      {live: 20 + number, rows: lambda { |build|
        kept(build, LEAK, number, 16)
        build.blocks([*table, "/srv/app/cart.rb:12 Struct.new", "/srv/app/cart.rb:12 Cart#add"], "ruby", 16 * 1024 * 2**(number / 4), birth: number / 4 * 4 * GC_EACH, inuse: 1)
      }}
    end
    assert(found.text(width: 400).to_s.include?("Retained in the table of constants that grows at /srv/app/cart.rb:12 `Cart#add`."), found.to_s)
  end

  test "a container that is only near, in the same file, is called a guess" do
    near = ["!/usr/bin/ruby rb_st_init_existing_table_with_size", "!/usr/bin/ruby rebuild_table", "/srv/app/cart.rb:40 Hash#[]=", "/srv/app/cart.rb:40 Cart#names"]
    found = diagnosis(20) do |number|
      {live: 20 + number, rows: lambda { |build|
        kept(build, LEAK, number, 16)
        build.blocks(near, "ruby", 16 * 1024 * 2**(number / 4), birth: number / 4 * 4 * GC_EACH, inuse: 1)
      }}
    end
    assert(found.text(width: 400).sentence.end_with?(" Perhaps retained in the Hash that grows at /srv/app/cart.rb:40 `Cart#names`."), found.text.sentence)
    refute(found.text.advice.first.include?("cart.rb:40"), found.text.advice.inspect)
    assert_equal(false, found.to_h[:findings].first[:keeper][:sure])
  end

  test "a table that was made whole keeps nothing, nor does one of the VM that follows what others keep" do
    follower = ["!/usr/bin/ruby rebuild_table", "!/usr/bin/ruby generic_ivar_set_shape_ivptr", "/srv/app/cart.rb:12 Cart#add"]
    found = diagnosis(20) do |number|
      {live: 20 + number, rows: lambda { |build|
        kept(build, LEAK, number, 16)
        build.blocks(TABLE, "ruby", 1 << 20, birth: 1, inuse: 1)
        build.blocks(follower, "ruby", 16 * 1024 * 2**(number / 4), birth: number / 4 * 4 * GC_EACH, inuse: 1)
      }}
    end
    assert_nil(found.findings.first.keeper)
  end

  LOG = ["!/usr/bin/ruby rb_str_buf_append", "/srv/app/log.rb:4 Log#add", "/srv/app/main.rb:3 <main>"].freeze

  test "the VM's book of heap pages is no leak of the line that needed a page" do
    book = ["!/usr/bin/ruby heap_page_allocate_and_initialize", "!/usr/bin/ruby newobj_cache_miss", "/srv/app/page.rb:9 Page#render"]
    found = diagnosis(20) { |number|
      {live: 20 + number, rows: ->(build) {
        kept(build, LEAK, number, 16); (1..number).each { |birth|
          build.blocks(book, "ruby", 4096, birth: birth * GC_EACH - 5, inuse: 4)
        }
      }}
    }
    assert_equal([12], found.findings.map { |finding| finding.app_line.line })
  end

  test "a String that is appended to is a leak, though its one block is always new" do
    found = diagnosis(20) { |number| {live: 20 + number, rows: ->(build) { build.blocks(LOG, "ruby", number << 20, birth: number * GC_EACH - 5, inuse: 1) }} }
    assert(found.leak?, found.to_s)
    assert_equal(["/srv/app/log.rb", 4], [found.findings.first.line.path, found.findings.first.line.line])
  end

  # The series with a walk in its last profile: all that is there is kept by a way, but blocks of malloc that are +unknown+.
  def walked(series, *edges, walk: {}, unknown: false)
    held = series.infos.size.times.map do |index|
      profile = series[index]
      next profile unless index == series.size - 1

      nodes = ["root (constants)", *edges, "root (not reached)"].each_with_index.flat_map do |text, number|
        kind, name = text.split(" ", 2)
        profile.texts.push(kind, name)
        [kind == "root" ? number : number - 1, profile.texts.size - 2, profile.texts.size - 1, 0, 0, 0, 1, 0]
      end
      kept = profile.table.each_with_index.flat_map do |columns, row|
        [row, unknown && columns[Columns::MALLOC] ? edges.size + 1 : edges.size, *%i[OBJECTS SPACE VARIANCE].map { |figure| profile.table[row][Columns.const_get(:"INUSE_#{figure}")] }]
      end
      Profile.new(meta: profile.meta.merge("kept" => {"refused" => nil, **walk}), texts: profile.texts, stacks: profile.stacks, rows: profile.table,
                  holders: Holders.from_raw(nodes, kept, profile.texts, profile.table))
    end
    Series.new(held)
  end

  test "where a profile tells who keeps what, the diagnosis names it, and else infers" do
    found = ProcessDiagnosis.new(walked(leaking(20), "constant Cart::ALL", "element [] of Array"))
    assert_equal([:leak, :confirmed], [found.kind, found.grade])
    assert_equal("Cart::ALL", found.findings.first.holder.to_s)
    assert(found.text(width: 400).sentence.end_with?("/hour). Retained by `Cart::ALL`."), found.text.sentence)
    assert(found.text.advice.first.include?("Look at what is added to `Cart::ALL` and never taken out."), found.text.advice.inspect)
    assert_equal("Cart::ALL", found.to_h[:findings].first[:holder][:name])
    assert(ProcessDiagnosis.new(leaking(20)).findings.first.holder.nil?)
  end

  test "a holder that is storage for anything is named with the container that grows" do
    growing = series(20) do |number|
      {live: 20 + number, rows: lambda { |build|
        kept(build, LEAK, number, 16)
        build.blocks(TABLE, "ruby", 16 * 1024 * 2**(number / 4), birth: number / 4 * 4 * GC_EACH, inuse: 1)
      }}
    end
    found = ProcessDiagnosis.new(walked(growing, "fiber_local fiber storage of Fiber", "element [] of Array"))
    assert(found.text(width: 400).sentence.end_with?("Retained by `fiber storage of Fiber`, in the Hash that grows at /srv/app/cart.rb:14 `Cart#add`."), found.text.sentence)
    assert_equal(["Look at what is added at /srv/app/cart.rb:14 `Cart#add` and never taken out."], found.text(width: 400).advice)
    found = ProcessDiagnosis.new(walked(growing, "constant Cart::ALL", "element [] of Array"))
    assert(found.text(width: 400).sentence.end_with?("Retained by `Cart::ALL`."), found.text.sentence)
  end

  test "the finding says how much its holder keeps in all, or what grows in step with it" do
    orders = ["/srv/app/order.rb:6 Order#initialize", "/srv/app/main.rb:3 <main>"]
    both = series(20) { |number| {live: 20 + number, rows: ->(build) { kept(build, LEAK, number, 30); kept(build, orders, number, 25) }} }
    text = ProcessDiagnosis.new(walked(both, "constant Cart::ALL", "element [] of Array")).text(width: 400).to_s
    assert(text.match?(/This is 5\d\.\d% of all growth; together with all else that `Cart::ALL` retains, 100\.0%\./), text)
    text = ProcessDiagnosis.new(both).text(width: 400).to_s
    assert(text.match?(/This is 5\d\.\d% of all growth; together with the lines that grow in step with it, 100\.0%\./), text)
  end

  test "a walk that was made before most of it came is said to be" do
    whole = walked(leaking(6), "constant OTHER")
    growing = Series.new([*whole, *leaking(30).to_a.drop(6)])
    growing[5].holders.each { |held| growing[5].holders.path(held.node).first.instance_variable_set(:@name, "(not reached)") }
    found = ProcessDiagnosis.new(growing)
    assert(found.findings.first.unseen > 0.8, found.findings.first.unseen.inspect)
    assert(found.text(width: 400).to_s.match?(/The last heap walk \(\d\d:\d\d:\d\d UTC\) is older than \d+\.\d% of this growth\. Run heapsample why 4711\./), found.text(width: 400).to_s)
    refute(ProcessDiagnosis.new(walked(leaking(20), "constant OTHER")).to_s.include?("The last heap walk"))
    told = Series.new([*walked(leaking(6), "constant OTHER"), *leaking(30).to_a.drop(6)])
    assert(ProcessDiagnosis.new(told).text(width: 400).to_s.match?(/Retained by `OTHER`.*The last heap walk/m), ProcessDiagnosis.new(told).to_s)
  end

  # C code that mallocs 16 blocks a minute by a method of Deflate, and objects of that class.
  def native(objects: 0)
    series(20) do |number|
      {live: 20 + number, rows: lambda { |build|
        (1..number).each do |birth|
          build.blocks(["!/usr/lib/libz.so.1 deflateInit2_", "/srv/app/cart.rb:12 Deflate#initialize", APP], "libz.so.1", 60_000, birth: birth * GC_EACH - 5, inuse: 16, alloc: 16)
          build.row(["/srv/app/cart.rb:3 Cart#open"], "Deflate", type: "T_DATA", birth: birth * GC_EACH - 5, inuse: 1) if birth <= objects
        end
      }}
    end
  end

  test "blocks of C code belong to the objects that it made them for, and else nobody is named" do
    found = ProcessDiagnosis.new(walked(native(objects: 20), "constant OPEN", "value {} value of Hash", unknown: true))
    assert_equal([:native, "OPEN", "Deflate"], [found.kind, found.findings.first.holder.to_s, found.findings.first.holder.owner])
    assert(found.text(width: 400).sentence.end_with?("Retained by `OPEN`, which retains the `Deflate`s that own the memory."), found.text.sentence)
    assert_equal("Deflate", found.to_h[:findings].first[:holder][:owner])
    found = ProcessDiagnosis.new(walked(native, "constant OPEN", "value {} value of Hash", unknown: true))
    refute(found.findings.first.holder.told?)
    assert(found.text(width: 400).sentence.end_with?("Held by C code of `libz.so.1` (no Ruby reference found)."), found.text.sentence)
  end

  test "the VM's caches and the machine stack are not called a holder that somebody wrote" do
    series = walked(leaking(20), "cache callable method cache of A")
    series[19].holders.each { |held| series[19].holders.path(held.node).first.instance_variable_set(:@name, "(VM caches)") }
    sentence = ProcessDiagnosis.new(series).text(width: 400).sentence
    assert(sentence.include?(" Not retained by a variable or constant of the program, but by (VM caches): the VM's own caches and compiled code keep it"), sentence)
  end
end
