# frozen_string_literal: true

# The diagnosis of made-up series: which lines are named, what is judged together, what is first. test_verdict.rb and
# test_counts.rb have the rule and its points, test_sentences.rb what is printed; real programs judge it all in test/zoo.

require "json"
require_relative "../../testing"
require_relative "counted_series"

class DiagnosisTest < Test
  include CountedSeries
  include HeapSample

  def diagnosis(...) = series(...).diagnosis
  # Lines that are named, by number.
  def named(diagnosis) = diagnosis.findings.map { |finding| finding.line.place.line }

  # --- states ---

  test "even growth after major GCs is a likely leak: where, how much, how fast" do
    found = leaking(20).diagnosis
    assert_equal([:likely, :objects, nil, true, true], [found.state, found.kind, found.guard, found.leak?, found.grows?])
    assert_close(13 * MIB, found.grew, 1e-3)
    assert_close(60 * MIB, found.rate[1], 1e-3)
    finding = found.findings.first
    assert_equal(["/srv/app/cart.rb", 12, 5, "String"], [finding.line.subject.path, finding.line.subject.line, finding.line.place.line, finding.line.class_name])
    low, high = finding.interval
    assert(low < 13 * MIB && 13 * MIB < high, finding.interval.inspect)
  end

  test "the first answer of a leak is that 12 points are too few, and from 14 on it is a leak whatever comes" do
    states = (1..30).map { |count| leaking(count).diagnosis.state }
    assert_equal([:unknown] * 12 + [:grows] + [:likely] * 17, states)
  end

  test "growth that stops is a leak first, and ends within 20 minutes" do
    states = (14..60).map { |count| leaking(count, until_minute: 20).diagnosis.state }
    assert_equal(%i[likely ended], states.uniq)
    assert(states.count(:likely) <= 6 + 20, states.tally.inspect)
  end

  test "what is level is no leak from 17 points on, and cannot be judged before" do
    assert_equal([[:unknown, nil], [:none, nil]], [16, 17].map { |count| level(count).diagnosis.then { |found| [found.state, found.kind] } })
  end

  test "threads that are eight times as many confirm a leak, and name the line that creates them; fewer may be a pool" do
    many = diagnosis(20) { |minute| {threads: 10 * minute} }
    assert_equal([:confirmed, :threads, "/srv/app/pool.rb:7"], [many.state, many.kind, many.to_h[:created]])
    assert_equal([:confirmed, :fibers], diagnosis(20) { |minute| {fibers: 10 * minute} }.then { |found| [found.state, found.kind] })
    assert_equal([:likely, :threads], diagnosis(20) { |minute| {threads: 300 + (10 * minute)} }.then { |found| [found.state, found.kind] })
    assert_equal(:none, diagnosis(30) { |minute| {threads: [20 * minute, 60].min} }.state)
    assert_equal(:none, diagnosis(30) { |minute| {threads: 10 + (minute % 4)} }.state)
  end

  test "mapped memory leaks without a line, and major GCs are not needed for that" do
    found = diagnosis(20, majors: false) { |minute| {mapped: 2 * minute} }
    assert_equal([:likely, :mapped, []], [found.state, found.kind, found.findings])
  end

  # Blocks of C code: 16 a minute.
  NATIVE = ["!/usr/lib/libz.so.1 deflateInit2_", "/srv/app/cart.rb:12 Deflate#initialize", APP].freeze

  def native(count, &rows)
    series(count) do |minute|
      {malloc: 30 + minute, rows: lambda { |build|
        (1..minute).each { |step| build.blocks(NATIVE, "libz.so.1", 60_000, at_gc: (step * EACH) - 5, inuse: 16, alloc: 16) }
        rows&.call(build, minute)
      }}
    end
  end

  test "a block of C code to which nothing refers is lost; one that is retained, or of which nothing is known, is not" do
    lost = walked(native(20), {12 => nil}).diagnosis
    assert_equal([:likely, :native, true], [lost.state, lost.kind, lost.findings.first.lost?])
    [native(20), walked(native(20), {12 => ["constant OPEN", "value {} value of Hash"]})].each do |series|
      found = series.diagnosis
      assert_equal([:likely, :native, false], [found.state, found.kind, found.findings.first.lost?])
    end
  end

  test "blocks of C code belong to the objects that were created with them" do
    [[640, 12], [640, nil], [40, nil]].each do |slot, line|
      open = native(20) { |build, minute| (1..minute).each { |step| build.row(["/srv/app/cart.rb:3 Cart#open"], "Deflate", slot: slot, at_gc: (step * EACH) - 5, inuse: 1) } }
      found = walked(open, {3 => ["constant OPEN", "value {} value of Hash"], 12 => (["constant LOCKS"] if line)}).diagnosis
      holder = found.findings.first.holder
      # Not where a reference leads to the blocks, nor where there are more objects than blocks.
      expected = line ? ["LOCKS", nil] : slot == 640 ? ["OPEN", "Deflate"] : ["(not reached)", nil]
      assert_equal([:likely, *expected], [found.state, holder.to_s, holder.owner])
    end
  end

  # --- what retains it ---

  LIST = ["constant ALL", "element [] of Array"].freeze

  def first_line(series) = series.diagnosis.findings.first.line

  test "a holder is named for at least a third; of a smaller part it is said how much, and nothing is inferred" do
    {1.0 => [:ALL], 0.4 => [:ALL], 0.3 => [nil, :ALL], 0.05 => [nil, nil]}.each do |part, (holder, partly)|
      line = first_line(walked(leaking(20), {5 => {LIST => part, nil => 1 - part}.select { |_, share| share.positive? }}))
      named = [line.holder, line.partly].map { |answer| answer.to_s.to_sym if answer&.named? }
      assert_equal([holder, partly], named, part.to_s)
      assert_close(part, (line.partly || line.holder).share, 1e-6) if part >= 0.3
    end
    text = flat(walked(leaking(20), {5 => {LIST => 0.3, ["constant OTHER", "element [] of Array"] => 0.25, nil => 0.45}}).diagnosis.text)
    assert(text.include?("At least 3.9 MiB of it is retained by `ALL`.") && !text.include?("retained by `OTHER`"), text)
    part = flat(walked(leaking(20), {5 => {LIST => 0.4, nil => 0.6}}).diagnosis.text)
    assert(part.include?("Most of it is from /srv/app/cart.rb:12 `Cart#add`, at least 40.0% of it retained by `ALL`.") && part.include?("1. `ALL` retains at least 40.0% of +"), part)
  end

  test "a cache whose entries are replaced is not what retains the growth" do
    cache = ["constant CACHE", "value {} value of Hash"]
    grown = series(20) { |minute| {slots: 60 + minute, rows: ->(build) { build.row(LEAK, "String", at_gc: 1, inuse: 400); kept(build, LEAK, minute, 16) }} }
    named = ->(first) { first_line(walked(grown, {5 => {cache => 0.56, LIST => 0.44}}, first: first && {5 => first})).holder.to_s }
    assert_equal(%w[ALL CACHE CACHE], [named[cache], named[{cache => 0.3, LIST => 0.7}], named[nil]])
  end

  test "a line whose objects replace other objects of a cache is not what leaks" do
    cache = ["constant CACHE", "value {} value of Hash"]
    # So much of what was loaded at first goes each minute, and 20 samples come.
    renewed = ->(gone) {
      series(20) do |minute|
        {slots: 60 + minute, rows: lambda { |build|
          build.row(OTHER, "String", at_gc: 1, inuse: 500 - (gone * minute))
          kept(build, CHURN, minute, 20)
          kept(build, LEAK, minute, 16)
        }}
      end
    }
    holders = {8 => cache, 9 => cache, 12 => LIST}
    lines = ->(series, first) { walked(series, holders, first: (holders if first)).diagnosis.findings.map { |finding| finding.line.subject.line } }
    assert_equal([[12], [9, 12], [9, 12]], [lines[renewed[20], true], lines[renewed[5], true].sort, lines[renewed[20], false].sort])
  end

  test "where counts say that it grows and no line is certain, the most probable one is named" do
    rows = ->(build) { [[LEAK, 105, 4], [OTHER, 150, 2]].each { |stack, at_gc, samples| build.row(stack, "String", at_gc: at_gc, inuse: samples) } }
    thin = series(20) { |minute| {slots: 20 + minute, rows: (rows if minute > 15)} }
    found = walked(thin, {12 => LIST}).diagnosis
    assert_equal([:likely, [12], "ALL"], [found.state, found.findings.map { |finding| finding.line.subject.line }, found.findings.first.holder.to_s])
    refute_predicate(found.findings.first.line, :certain?)
  end

  test "with few major GCs, growth is what was allocated after the start and a walk reached" do
    few = series(3) { |minute| {slots: 20 + minute, rows: ->(build) { kept(build, OTHER, 1, 400); kept(build, LEAK, minute, 16, from: 2); build.row(CHURN, "Array", at_gc: 25, inuse: 40) }} }
    found = walked(few, {8 => ["constant REPORTS"], 12 => LIST, 9 => nil}).diagnosis
    assert_equal([:unknown, [12], "ALL"], [found.state, found.findings.map { |finding| finding.line.subject.line }, found.findings.first.holder.to_s])
    assert(flat(found.text).include?("The line that grew most so far is /srv/app/cart.rb:12 `Cart#add` (+1.0 MiB), retained by `ALL`."), flat(found.text))
  end

  test "with few major GCs, what is replaced again and again does not grow" do
    few = ->(stays) {
      series(4) do |minute|
        {slots: 20 + minute, rows: lambda { |build|
          kept(build, LEAK, minute, 16, from: 2)
          build.row(CHURN, "Array", at_gc: 5, inuse: stays || minute < 4 ? 200 : 100)
          build.row(CHURN, "Array", at_gc: 35, inuse: 100) if minute == 4
        }}
      end
    }
    lines = ->(series) { walked(series, {12 => LIST, 9 => ["constant REPORTS", "element [] of Array"]}).diagnosis.findings.map { |finding| finding.line.subject.line } }
    assert_equal([[12], [9, 12]], [lines[few[false]], lines[few[true]].sort])
  end

  # Within two minutes nothing shows when it was allocated, so nothing shows that it is new.
  test "with few GCs, what was allocated between two of them counts for all of the time in between" do
    gc = {"last_major_ns" => 1, "times" => [[10, 1_767_225_600_000, 1], [10, 40_000, 1], [10, 120_000, 1]]}
    few = series(3) do |minute|
      {slots: 20 + minute, gc: {"count" => minute * EACH, "major" => minute, "last_major_gc" => minute * EACH, **gc},
       rows: ->(build) { build.row(LEAK, "String", at_gc: 20, inuse: 200) if minute == 3 }}
    end
    line = first_line(few)
    assert_equal([12, [line.space.round / 3] * 3], [line.subject.line, line.parts.map(&:round)])
  end

  test "a walk without any major GC has no growth to show, and no error" do
    few = series(3, majors: false) { |minute| {slots: 20 + minute, rows: ->(build) { kept(build, LEAK, minute, 16) }} }
    assert_equal([:unknown, []], walked(few, {12 => LIST}).diagnosis.then { |found| [found.state, found.findings] })
  end

  test "GCs that began in the same millisecond have no time between them" do
    gc = {"last_major_ns" => 1, "times" => [[10, 1_767_225_600_000, 1], [10, 0, 1], [10, 0, 1]]}
    few = series(3) { |minute| {slots: 20 + minute, gc: {"count" => minute * EACH, "major" => minute, "last_major_gc" => minute * EACH, **gc}, rows: ->(build) { kept(build, LEAK, minute, 16) }} }
    assert_equal(:unknown, few.diagnosis.state)
    assert_predicate(GrowingLines.new([few], from: few.infos.first.taken).lines, :any?)
  end

  test "what the walk did not reach and no major GC found alive is garbage, and makes no holder's part smaller" do
    {30 => 0.6, 15 => 1.0}.each do |last_major, part|
      gc = ->(minute) { {"count" => minute * EACH, "major" => minute, "last_major_gc" => [last_major, minute * EACH].min, "last_major_ns" => 1} }
      few = series(3) { |minute| {slots: 20 + minute, gc: gc[minute], rows: ->(build) { kept(build, LEAK, minute, 16) }} }
      assert_close(part, first_line(walked(few, {12 => {LIST => 0.6, nil => 0.4}})).holder.share, 1e-6)
    end
  end

  test "a word on a machine stack or on the stack of C code is no holder" do
    [["root (machine stack)", "root (machine stack)"], ["root (threads)", "data thread of Ractor", "stack C stack of Thread", "element [] of Array"]].each do |guess|
      found = walked(leaking(20), {5 => guess}).diagnosis
      assert_nil(found.findings.first.holder)
      refute(flat(found.text).match?(/retained by|retains [^t]/), flat(found.text))
    end
  end

  LOCAL = ["root (threads)", "data thread of Ractor", "local local known of block in <main>", "element [] of Array"].freeze

  test "a local variable is a holder if it held the line at the first walk too, or if that walk did not see the line" do
    steady = series(20) { |minute| {slots: 20 + minute, rows: ->(build) { kept(build, LEAK, minute + 4, 16) }} }
    named = ->(first) { first_line(walked(steady, {5 => LOCAL}, first: first && {5 => first})).holder&.to_s }
    assert_equal(["local known of block in <main>"] * 3, [named[nil], named[LOCAL], named[["root (not reached)"]]])
    assert_nil(named[LIST])
    # What grows may be elsewhere at first: the walk in the middle decides.
    at_half = ->(middle) { first_line(walked(steady, {5 => LOCAL}, first: {5 => LIST}, middle: {5 => middle})).holder&.to_s }
    assert_equal(["local known of block in <main>", nil], [at_half[LOCAL], at_half[LIST]])
    # What C code has below a local variable is a guess: a walk before has to agree.
    native = native(20)
    document = ["root (threads)", "local local doc of Parser#parse"]
    found = ->(first) { walked(native, {12 => {document => 0.4, nil => 0.6}}, first: first && {12 => first}).diagnosis.findings.first }
    assert_equal(["local doc of Parser#parse", false], found[document].then { |finding| [finding.holder.to_s, finding.lost?] })
    [nil, [*document.first(1), "local local other of Parser#parse"]].each do |first|
      assert_equal([nil, true], found[first].then { |finding| [finding.to_h[:holder], finding.lost?] })
    end
  end

  test "what is not reached in part only is not called lost" do
    {0.4 => false, 0.9 => true}.each do |part, lost|
      found = walked(native(20), {12 => {nil => part, ["constant A", "element [] of Array"] => (1 - part) / 2, ["constant B", "element [] of Array"] => (1 - part) / 2}}).diagnosis
      assert_equal(lost, found.findings.first.lost?, part.to_s)
    end
  end

  # --- entries ---

  # 1 MiB a minute in a container that was there before, which is looked at in the first profile and in the last. +first+, +last+:
  # how many entries; +limit+: what limits it; +left+: the part of what the first walk saw that is left.
  def container(first, last, limit: nil, left: 1, edge: "ivar @seen of Inbox", inner: [])
    grown = series(20) do |minute|
      {slots: 20 + minute, rows: lambda { |build|
        kept(build, LEAK, minute, 16, from: 2)
        build.row(LEAK, "String", at_gc: 1, inuse: minute < 20 ? 40 : 40 * left) if left
      }}
    end
    ways = [first, last].map { |entries|
      ["constant INBOX", *([edge, *inner].then { |edges|
        [*edges[0...-1], "#{edges.last} ##{entries}#{", #{limit}" if limit}"]
      } if entries), "element [] of Array"]
    }
    walked(grown, {5 => ways[1]}, first: {5 => ways[0]}).diagnosis
  end

  test "a leak is confirmed by entries that are eight times as many, if none were removed and nothing limits them" do
    confirmed = container(412, 3680)
    assert_equal([:confirmed, :objects], [confirmed.state, confirmed.kind])
    assert_equal({before: 412, now: 3680, removed: 0}, confirmed.to_h[:findings].first[:entries].except(:since))
    text = flat(confirmed.text)
    assert(text.include?("Its entries: 412 → 3,680 since 00:01:00 UTC (first walk), none removed."), text)
    refute(text.include?("A cache that"), text)
    assert_equal(:likely, container(412, 3000).state)
    assert_equal(:likely, container(412, 3680, limit: "@max_size of Inbox").state)
    assert_equal(:likely, container(412, 3680, left: 0.5).state)
    assert_equal(:likely, leaking(20).diagnosis.state)
  end

  test "what may limit a container is named, and about how many entries were removed" do
    text = flat(container(412, 3680, limit: "@max_size of Inbox", left: 0.5).text)
    assert(text.include?("Its entries: 412 → 3,680 since 00:01:00 UTC (first walk), about 206 of the first removed. `@max_size of Inbox` may limit it."), text)
  end

  test "where the first walk saw too little to say what was removed, what was allocated first has to be there" do
    few = container(4, 3680, left: nil)
    assert_equal([:confirmed, nil], [few.state, few.findings.first.entries.gone])
    assert(flat(few.text).include?("Its entries: 4 → 3,680 since 00:01:00 UTC (first walk)."), flat(few.text))
    evicts = series(20) do |minute|
      {slots: 20 + minute, rows: ->(build) { (2..minute).each { |step| build.row(LEAK, "String", at_gc: (step * EACH) - 5, inuse: step > 15 ? 20 : 6) } }}
    end
    ways = [4, 3680].map { |entries| ["constant CACHE ##{entries}", "element [] of Array"] }
    found = walked(evicts, {5 => ways[1]}, first: {5 => ways[0]}).diagnosis
    assert_equal([:likely, true], [found.state, found.findings.first.entries.grew?(8)])
  end

  test "one walk gives the number of entries alone; the entries of what is inside a collection count for it" do
    one = walked(leaking(20), {5 => ["constant CACHE #900", "element [] of Array"]}).diagnosis
    assert_equal([:likely, {now: 900}], [one.state, one.to_h[:findings].first[:entries]])
    assert(flat(one.text).include?("Its entries: 900."), flat(one.text))
    assert_equal([:confirmed, 3680], container(412, 3680, inner: ["ivar @backend of Concurrent::Map"]).then { |found| [found.state, found.findings.first.entries.now] })
    assert_nil(container(nil, nil).findings.first.entries)
  end

  test "where a collection has no more entries and a line grows below it, the collection in its entries is named" do
    cells = ->(entries) { ["constant CITY", "ivar @cells of City ##{entries}", "element [] of Array", "ivar @taxis of Cell", "value {} value of Hash"] }
    grown = series(20) { |minute| {slots: 20 + minute, rows: ->(build) { build.row(["/srv/app/city.rb:1 City#cell"], "Cell", at_gc: 1, inuse: 40) && kept(build, LEAK, minute, 16) }} }
    named = ->(first, last) { walked(grown, {12 => cells[last]}, first: {12 => cells[first]}).diagnosis.findings.first.holder.to_s }
    assert_equal(["@taxis of Cell", "@taxis of Cell", "@cells of City"], [named[400, 400], named[400, 390], named[400, 401]])
    # One list of listeners, by the name of the event: the list grows.
    listeners = ->(entries) { ["constant SHOP", "ivar @listeners of Shop #1", "value {} value of Hash ##{entries}", "element [] of Array", "ivar @lines of Cell", "element [] of Array"] }
    assert_equal("@listeners of Shop", walked(grown, {12 => listeners[400]}, first: {12 => listeners[40]}).diagnosis.findings.first.holder.to_s)
  end

  test "a holder of less than half of the growth confirms nothing" do
    two = series(20) { |minute| {slots: 20 + (3 * minute), rows: ->(build) { kept(build, LEAK, minute, 16); kept(build, OTHER, minute, 14); kept(build, CHURN, minute, 14) }} }
    ways = [412, 3680].map { |entries| {5 => ["constant CACHE ##{entries}", "element [] of Array"], 8 => LIST, 9 => nil} }
    assert_equal(:likely, walked(two, ways[1], first: ways[0]).diagnosis.state)
  end

  test "a table that doubled leads only while the entries in it grow" do
    table = ["!/usr/bin/ruby st_init_table", "/srv/app/cache.rb:3 Cache#put"]
    doubled = series(20) { |minute|
      {slots: 20 + minute, rows: ->(build) {
        kept(build, LEAK, minute, 4); build.blocks(table, "ruby", (minute < 12 ? 4 : 8) << 20, at_gc: (minute < 12 ? 5 : 125), inuse: 1)
      }}
    }
    named = ->(first, last) { walked(doubled, {3 => ["constant CACHE ##{last}"]}, first: {3 => ["constant CACHE ##{first}"]}).diagnosis.findings.flat_map(&:lines).map { |line| line.place.line } }
    assert_equal([[5], [3, 5]], [named[5000, 5010], named[5000, 9000]].map(&:sort))
  end

  # --- threads that pile up, and what is mapped ---

  STUCK = {"name" => "waits for Thread::Queue", "path" => "/srv/app/worker.rb", "line" => 9, "threads" => 180, "space" => 1000}.freeze

  def waiting(**walk)
    threads = series(20) do |minute|
      {threads: 10 * minute, slots: 20 + minute, free: 4 + (0.5 * minute), rows: lambda { |build|
        kept(build, ["/srv/app/worker.rb:4 Worker#initialize"], minute, 1, class_name: "Thread::Queue")
        kept(build, ["/srv/app/worker.rb:7 Worker#run"], minute, 4)
        kept(build, OTHER, minute, 4)
      }}
    end
    last = ["root (threads that can never wake)", "root waits for Thread::Queue"]
    walked(threads, {4 => [*last, "self self of block in Worker#run", "ivar @inbox of Worker"], 7 => [*last, "local local rows of Worker#run"], 8 => LIST}, walk: walk).diagnosis
  end

  test "threads that pile up: how many, all memory that came with them, what they retain, and which object they wait for" do
    found = waiting("stuck" => [STUCK])
    text = flat(found.text)
    assert(text.include?("With 190 more threads (10 → 200) RSS grew by 28.5 MiB: 19.0 MiB live slots, 9.5 MiB free slots in heap pages, page headers."), text)
    assert(text.include?("180 of them wait for `Thread::Queue` (`@inbox of Worker`) at /srv/app/worker.rb:9, and nothing else refers to it."), text)
    retained = text[/They retain (\S+ \S+) of objects/, 1]
    assert_equal("5.9 MiB", retained) # 19 minutes of 5 samples; what was there at first does not count
    assert_equal([], found.text.shown)
    assert(found.to_h[:evidence].any? { |sentence| sentence.start_with?("180 of them wait") })
  end

  test "an object that the threads do not name is left out, and so are fibers where threads pile up" do
    other = flat(waiting("stuck" => [{**STUCK, "name" => "waits for Thread::Mutex"}]).text)
    assert(other.include?("180 of them wait for `Thread::Mutex` at /srv/app/worker.rb:9, and"), other)
    refute(flat(waiting("stuck" => [{**STUCK, "name" => "fiber waits for Thread::Queue"}]).text).include?("wait for"))
    refute(flat(diagnosis(20) { |minute| {threads: 10 * minute} }.text).include?("They retain"))
  end

  test "mapped memory has the name of the part that grew, and is from no line of other memory" do
    grows = {free: ->(minute) { {mapped: 2 * minute} }, files: ->(minute) { {parts: {"code_and_files" => 10 + (2 * minute)}} }, stacks: ->(minute) { {parts: {"stacks" => 2 * minute}} }}
    names = grows.transform_values do |of|
      found = diagnosis(20) { |minute| {**of[minute], rows: ->(build) { kept(build, OTHER, minute, 1) }} }
      assert_equal([:mapped, [], 1], [found.kind, found.text.shown, found.text.steps.size])
      refute(found.text.sentence.include?("report.rb"), found.text.sentence)
      found.text.sentence[/steadily|: (.*) grew by/, 1]
    end
    assert_equal({free: "memory that was mapped outside of malloc (mmap)", files: "mapped files", stacks: "memory of thread and fiber stacks"}, names)
    both = diagnosis(20) { |minute| {mapped: 2 * minute, rows: ->(build) { kept(build, OTHER, minute, 16) }} }
    assert(both.text.sentence.include?(". Of other memory +13.0 MiB is from /srv/app/report.rb:8 `Report#rows`."), both.text.sentence)
    assert_equal([2, 1], [both.text.steps.size, both.text.shown.size])
  end

  # --- native code ---

  GEM = "!/gems/gems/libxml-ruby-4.1.2/lib/libxml_ruby.so rxml_node_new"

  def from_c(*stack, library, holder: nil)
    frames = [*stack, "/srv/app/cart.rb:12 LibXML::XML::Node#initialize", APP]
    frames = stack if stack.last.include?("(no GVL)")
    leak = series(20) { |minute| {malloc: 30 + minute, rows: ->(build) { (1..minute).each { |step| build.blocks(frames, library, 60_000, at_gc: (step * EACH) - 5, inuse: 16, alloc: 16) } }} }
    walked(leak, {12 => holder, 0 => holder}).diagnosis
  end

  test "the function of C that asked for the memory is named, its library and the gem whose extension called it" do
    found = from_c("!/usr/lib/libxml2.so.2 xmlMallocLoc", "!/usr/lib/libxml2.so.2 xmlNewNode", GEM, "libxml2.so.2")
    text = flat(found.text)
    assert(text.include?("cart.rb:12 `Cart#add`, allocated by `xmlNewNode` of `libxml2.so.2`, called by the gem `libxml-ruby-4.1.2`; no reference to it was found."), text)
    assert(text.include?("1. `xmlNewNode` of `libxml2.so.2`, called by the gem `libxml-ruby-4.1.2`, allocated +"), text)
    assert(text.include?("without a matching free at /srv/app/cart.rb:12 `Cart#add`, or update the gem `libxml-ruby-4.1.2`."), text)
    refute(text.match?(/retained by|retains|Look at what is added/), text)
    assert_equal(["xmlNewNode (libxml2.so.2)", "libxml-ruby-4.1.2"], found.to_h[:findings].first[:lines].first.values_at(:function, :gem))
    assert_equal([nil, true], found.to_h[:findings].first.values_at(:holder, :lost))
  end

  test "Ruby's helpers that allocate for C code are not the function; what they allocated is native where no reference leads to it" do
    helpers = ["!/usr/bin/ruby objspace_xmalloc0", "!/usr/bin/ruby ruby_xcalloc", "!/usr/bin/ruby rb_data_object_zalloc", GEM]
    lost, held = from_c(*helpers, "ruby"), from_c(*helpers, "ruby", holder: ["constant A", "element [] of Array"])
    assert_equal([[:native, "rxml_node_new (libxml_ruby.so)"], [:objects, "rxml_node_new (libxml_ruby.so)"]], [lost, held].map { |found| [found.kind, found.findings.first.line.function.to_s] })
    own = from_c("!/usr/bin/ruby ruby_xmalloc", "!/usr/bin/ruby rb_str_buf_new", GEM, "ruby")
    assert_equal([:objects, nil], [own.kind, own.findings.first.line.function])
    assert_equal(["rxml_node_new (libxml_ruby.so)"], lost.series.last.groups(:function).map(&:key))
  end

  test "where no Ruby code runs the native function is named, not the place that stands for it" do
    found = from_c("!/usr/lib/libxml2.so.2 xmlNewNode", GEM, ":0 (no GVL)", "libxml2.so.2")
    assert_equal("xmlNewNode (libxml2.so.2)", found.findings.first.line.subject.label)
    refute(flat(found.text).include?("from `(no GVL)`"), flat(found.text))
  end

  test "of blocks that were not touched it is said how much is resident" do
    half = series(20) { |minute|
      {malloc: 30 + minute, rows: ->(build) {
        (1..minute).each { |step|
          build.blocks(NATIVE, "libz.so.1", 60_000, at_gc: (step * EACH) - 5, inuse: 16, alloc: 16, resident: 24_000)
        }
      }}
    }
    text = flat(half.diagnosis.text)
    found = half.diagnosis.findings.first
    assert_close(0.4 * found.space, found.resident, 1e-6)
    assert(text.include?("MiB of it is resident. The rest was allocated and never touched."), text)
    refute(flat(native(20).diagnosis.text).include?("resident"))
  end

  # --- which lines ---

  test "what comes and goes is not named, however much there is" do
    found = diagnosis(20) { |minute| {slots: 20 + minute, rows: ->(build) { kept(build, LEAK, minute, 16); build.row(CHURN, "String", at_gc: (minute * EACH) - 5, inuse: 300) }} }
    assert_equal([5], named(found))
  end

  test "lines of files that are loaded once are not named" do
    [["/srv/app/models/m%d.rb:1 <top (required)>", "/srv/app/shop.rb:3 Shop#start"], ["/srv/app/cart.rb:12 Kernel#require", APP]].each do |stack|
      found = diagnosis(20) do |minute|
        {slots: 20 + minute + [minute, 9].min, rows: lambda { |build|
          kept(build, OTHER, minute, 16)
          (1..[minute, 9].min).each { |file| build.row([stack[0].sub("%d", file.to_s), stack[1]], "String", at_gc: (file * EACH) - 5, inuse: 16) }
        }}
      end
      assert_equal([8], named(found))
    end
  end

  test "the VM's list of heap pages is not named" do
    pages = ["!/usr/bin/ruby heap_page_allocate_and_initialize", "!/usr/bin/ruby newobj_cache_miss", "/srv/app/page.rb:9 Page#render"]
    found = diagnosis(20) do |minute|
      {slots: 20 + minute, rows: lambda { |build|
        kept(build, LEAK, minute, 16)
        (1..minute).each { |step| build.blocks(pages, "ruby", 4096, at_gc: (step * EACH) - 5, inuse: 4) }
      }}
    end
    assert_equal([5], named(found))
  end

  test "a String that is appended to is named, though its one block is always new" do
    log = ["!/usr/bin/ruby rb_str_buf_append", "/srv/app/log.rb:4 Log#add", "/srv/app/main.rb:3 <main>"]
    found = diagnosis(20) { |minute| {malloc: 30 + minute, rows: ->(build) { build.blocks(log, "ruby", minute << 20, at_gc: (minute * EACH) - 5, inuse: 1) }} }
    assert_equal([:likely, [4]], [found.state, named(found)])
  end

  test "one line of the application that led to many lines is one finding, the blocks in it too" do
    places = [*Array.new(12) { |index| ["/gems/gems/g-1.0/lib/g.rb:#{index + 1} G#g#{index}", APP] }, ["/srv/app/cart.rb:12 block in Cart#add", APP]]
    found = diagnosis(20) { |minute| {slots: 20 + minute, rows: ->(build) { places.each { |stack| kept(build, stack, minute, 2) } }} }
    assert_equal([1, 13], [found.findings.size, found.findings.first.lines.size])
    assert_close(found.findings.first.space, found.findings.first.lines.sum(&:space))
  end

  test "lines that one holder retains are one finding, and lines of two holders are two" do
    two = series(20) { |minute| {slots: 20 + (2 * minute), rows: ->(build) { kept(build, LEAK, minute, 16); kept(build, OTHER, minute, 12) }} }
    edges = ["constant Cart::ALL", "element [] of Array"]
    found = walked(two, {5 => edges, 8 => edges}).diagnosis
    assert_equal([[[5, 8]], ["Cart::ALL"]], [found.findings.map { |finding| finding.lines.map { |line| line.place.line } }, found.findings.map { |finding| finding.holder.to_s }])
    apart = walked(two, {5 => edges, 8 => ["constant Report::ROWS", "element [] of Array"]}).diagnosis
    assert_equal([["Cart::ALL", [5]], ["Report::ROWS", [8]]], apart.findings.map { |finding| [finding.holder.to_s, finding.lines.map { |line| line.place.line }] })
  end

  test "the VM's caches are not called a holder" do
    series = walked(leaking(20), {5 => ["cache callable method cache of A"]})
    held = series[19].holders
    held.each { |one| held.path(one.node).first.instance_variable_set(:@name, "(VM caches)") }
    refute(Series.new([*series.to_a.first(19), series[19]]).diagnosis.findings.first.holder&.named?)
  end

  test "of one profile lines are judged by when they were allocated" do
    last = leaking(20).to_a.last
    found = Series.new([last]).diagnosis
    assert_equal([:likely, [5]], [found.state, named(found)])
    assert_close(13 * MIB, found.findings.first.space, 0.15)
  end

  test "a leak whose lines have no samples is a leak without a line" do
    found = diagnosis(20) { |minute| {slots: 20 + minute} }
    assert_equal([:likely, :objects, []], [found.state, found.kind, found.findings])
  end

  # --- several processes ---

  test "workers of one application are judged together, and the others by themselves" do
    workers = [11, 12, 13].map { |pid| leaking(20, pid: pid, "parent_id" => 10) }
    master = level(20, pid: 10, "title" => "puma: master")
    found = Diagnosis.new([master, *workers])
    assert_equal([[11, 12, 13], [10]], found.map { |process| process.to_h[:pids] })
    assert_equal([:likely, 3], [found.state, found.first.judged.size])
    assert_close(3 * 13 * MIB, found.first.grew, 1e-3)
    assert_close(3 * 60 * MIB, found.first.rate[1], 1e-3)
    assert_close(found.first.findings.first.space, 3 * leaking(20).diagnosis.findings.first.space)
    %w[host deploy directory].each do |field|
      apart = Diagnosis.new([leaking(20, pid: 1, field => "/a"), leaking(20, pid: 2, field => "/b")])
      assert_equal(2, apart.processes.size, field)
    end
  end

  test "of many processes the first are named, and how many there are" do
    found = Diagnosis.new((11..40).map { |pid| level(3, pid: pid, "parent_id" => 10) }).to_s
    assert(found.include?("Diagnosis: 30 processes (11, 12, 13, 14, 15, 16, 24 more), "), found)
  end

  test "two sessions of one process are judged apart, with a title and without, and each with the same session of other workers" do
    second = {"session" => 2, "started_ns" => Build::STARTED + Build::MINUTE}
    ["puma: worker", nil].each do |title|
      found = Diagnosis.new([leaking(20, "title" => title), level(20, "title" => title, **second)])
      assert_equal([[:likely, 1], [:none, 1]], found.map { |process| [process.state, process.members.size] })
    end
    found = Diagnosis.new([1, 2].flat_map { |pid| [leaking(20, pid: pid), level(20, pid: pid, **second)] })
    assert_equal([[:likely, [1, 2], [1, 1]], [:none, [1, 2], [2, 2]]], found.map { |process| [process.state, process.to_h[:pids], process.members.map { |one| one.infos.last.session }] })
  end

  test "one of four workers that leaks is named alone" do
    found = Diagnosis.new([level(20, pid: 1), level(20, pid: 2), leaking(20, pid: 3), level(20, pid: 4)])
    assert_equal([[1, 2, 3, 4], [3]], [found.first.to_h[:pids], found.first.judged.map { |one| one.infos.last.process_id }])
    assert_close(13 * MIB, found.first.grew, 1e-3)
  end

  test "the worst is first: a leak before growth, growth before what ended, then what cannot be judged, then what is level" do
    kinds = {confirmed: series(40, pid: 1) { |minute| {threads: 10 * minute} }, likely: leaking(20, pid: 2), ended: leaking(40, pid: 3, until_minute: 20), unknown: leaking(5, pid: 4),
             grows: series(40, pid: 5) { |minute| {slots: 20 + (0.001 * (minute**3))} }, none: level(40, pid: 6)}
    all = kinds.values.map.with_index { |series, index| Series.new(series.to_a.each { |profile| profile.meta["title"] = "x#{"abcdef"[index]}" }) }
    assert_equal(ProcessDiagnosis::STATES, Diagnosis.new(all.shuffle(random: Random.new(1))).map(&:state))
  end

  test "of two leaks the faster one is first" do
    slow = series(20, pid: 1, "title" => "a") { |minute| {slots: 20 + minute} }
    fast = series(20, pid: 2, "title" => "b") { |minute| {slots: 20 + (2 * minute)} }
    assert_equal([[2], [1]], Diagnosis.new([slow, fast]).map { |process| process.to_h[:pids] })
  end

  # --- names ---

  test "names in a profile reach no terminal as they are" do
    stack = ["/srv/app/\e[31mx.rb:1 X#x\e[0m"]
    leak = series(20, "title" => "\e[31mpuma") { |minute| {slots: 20 + minute, rows: ->(build) { kept(build, stack, minute, 16, class_name: "\e]0;title\a") }} }
    found = Diagnosis.new([leak])
    assert_equal(:likely, found.state)
    refute((found.to_s + found.text.to_markdown).match?(/[\e\a]/))
  end

  test "in Markdown every name of a profile stands in a code span that it cannot end" do
    name = "`]x[y](http://h)<b>|``@all"
    grows = lambda do |pid|
      series(20, pid: pid, "title" => name, "deploy" => name, "host" => "#{pid}#{name}") do |minute|
        {slots: 20 + minute, rows: ->(build) { kept(build, ["/srv/app/#{name}.rb:1 #{name}##{name}"], minute, 16, class_name: name) }}
      end
    end
    [[grows[1]], [grows[1], grows[2]]].each do |all|
      markdown = Diagnosis.new(all).text.to_markdown
      outside = markdown.gsub(/(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)/m, "")
      assert(markdown.include?("](http") && !outside.match?(/http|<b>|@all/), outside)
      assert_equal([*markdown.lines.grep(/^\|/).first&.count("|")], markdown.lines.grep(/^\|/).map { |line| line.count("|") }.uniq)
    end
  end
end
