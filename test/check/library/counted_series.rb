# frozen_string_literal: true

require_relative "builds"

# Series of made-up profiles: what is counted exactly in each, and rows of samples.
#
#   series(20) { |minute| {slots: 20 + minute, rows: ->(build) { kept(build, LEAK, minute, 16) }} }
#
# Sizes are in MiB. There is a profile each minute, with a major GC a second before, which is the last of EACH GCs.
module CountedSeries
  include Builds

  MIB = 1 << 20
  SECOND = 1_000_000_000
  # GCs between two profiles.
  EACH = 10
  # Bytes that a sample stands for, about: 16 samples are 1 MiB.
  UNIT = 64 * 1024
  # Objects that are allocated in a minute.
  WORK = 100_000

  APP = "/srv/app/cart.rb:12 Cart#add"
  LEAK = ["/gems/gems/rack-3.1.7/lib/rack/body.rb:5 Rack::Body#read", APP, "/srv/app/main.rb:3 <main>"].freeze
  OTHER = ["/srv/app/report.rb:8 Report#rows", "/srv/app/main.rb:3 <main>"].freeze
  CHURN = ["/srv/app/page.rb:9 Page#render", "/srv/app/main.rb:3 <main>"].freeze
  POOL = {"path" => "/srv/app/pool.rb", "line" => 7}.freeze

  # The block gives for a minute, from 1 on: slots, malloc, mapped, free (MiB), threads, fibers (counts), rows (a procedure
  # that gets the Build). +majors+: false for none; +every+: seconds; +limit+: of the account; +meta+: fields of
  # each profile.
  def series(count, pid: 4711, majors: true, every: 60, limit: {}, **meta, &block)
    ring = []
    HeapSample::Series.new((1..count).map { |minute| profile(ring, minute, {pid: pid, majors: majors, every: every, limit: limit}, meta, **block.call(minute)) })
  end

  def profile(ring, minute, options, meta, slots: 20, malloc: 30, mapped: 0, free: 4, threads: nil, fibers: nil, rows: nil, parts: {}, **more)
    now = Build::STARTED + (minute * options[:every] * SECOND)
    ring << [minute * EACH, now - SECOND, minute * WORK, (slots * MIB).to_i, malloc && (malloc * MIB).to_i] if options[:majors]
    build = Build.new(interval: UNIT, majors: (ring.dup if options[:majors] != nil), **{
      "process_id" => options[:pid], "process_start" => options[:pid].to_s, "title" => "puma: worker #{options[:pid]}", "host" => "h", "directory" => "/srv/app",
      "taken_ns" => now, "objects" => minute * WORK, "reason" => "periodic",
      "gc" => {"count" => minute * EACH, "major" => options[:majors] ? minute : 0, "minor" => minute * (EACH - 1),
               "last_major_ns" => (now - SECOND if options[:majors]), "last_major_gc" => (minute * EACH if options[:majors])},
      "account" => account(slots, malloc || 0, mapped, free, parts).merge(options[:limit]), "alive" => alive(threads, fibers)
    }.merge(meta, more.transform_keys(&:to_s)))
    rows&.call(build)
    build.profile
  end

  # +more+: other parts of the account.
  def account(slots, malloc, mapped, free, more = {})
    parts = {"slots_live" => slots, "slots_free" => free, "malloc_live" => malloc, "malloc_waste" => 1, "stacks" => 0.2, "code_and_files" => 10, "unattributed" => mapped, **more}
    parts.transform_values { |size| (size * MIB).to_i }.then { |sizes| sizes.merge("rss" => sizes.values.sum) }
  end

  def alive(threads, fibers)
    {"threads" => threads, "fibers" => fibers}.transform_values { |count| {"count" => count, "made" => [{**POOL, "count" => count}]} if count }.compact if threads || fibers
  end

  # +each+ samples allocated before each of the profiles up to +minute+, all of which are there.
  def kept(build, stack, minute, each, class_name: "String", from: 1)
    (from..minute).each { |step| build.row(stack, class_name, at_gc: (step * EACH) - 5, inuse: each) }
  end

  # 1 MiB a minute at one line.
  def leaking(count, until_minute: Float::INFINITY, **options)
    series(count, **options) { |minute| [minute, until_minute].min.then { |at| {slots: 20 + at, rows: ->(build) { kept(build, LEAK, at, 16) }} } }
  end

  def level(count, **options) = series(count, **options) { |minute| {slots: 20 + (minute % 3), rows: ->(build) { build.row(CHURN, "Array", at_gc: 1, inuse: 40) }} }

  # The series with a walk in its last profile, one in its first if +first+ is given, one in the middle if +middle+ is. +holders+,
  # +first+, +middle+: edges by line, "LINE" => ["constant A::B", …]; nil: not reached; {["constant A", …] => 0.4, nil => 0.6}: of several
  # ways the part of each. A way begins at "root (constants)", or at the root that it names. "constant CACHE #412, @max of Cache" leads to
  # a container of 412 entries, which @max limits.
  def walked(series, holders, first: nil, middle: nil, walk: {})
    profiles = series.to_a
    profiles[0] = with_walk(profiles[0], first) if first
    profiles[profiles.size / 2] = with_walk(profiles[profiles.size / 2], middle) if middle
    HeapSample::Series.new([*profiles[0...-1], with_walk(profiles[-1], holders, walk)])
  end

  # +walk+: what else the file says of the walk.
  def with_walk(profile, holders, walk = {})
    texts = profile.texts.dup
    nodes, kept = [], []
    text = ->(words) { texts.index(words) || (texts << words).size - 1 }
    ends = holders.transform_values do |ways|
      (ways.is_a?(Hash) ? ways : {ways => 1.0}).map { |edges, part| [way(nodes, text, edges), part] }
    end
    profile.table.each_with_index do |row, index|
      line = profile.stacks.stack(row[HeapSample::Columns::STACK]).find { |frame| !frame.native? && ends.key?(frame.lineno) }&.lineno or next
      ends[line].each { |node, part| kept.push(index, node, *%i[OBJECTS SPACE VARIANCE].map { |figure| row[HeapSample::Columns.const_get(:"INUSE_#{figure}")] * part }) }
    end
    HeapSample::Profile.new(meta: profile.meta.merge("kept" => {"refused" => nil, **walk}), texts: texts, stacks: profile.stacks, rows: profile.table,
                            holders: HeapSample::Holders.from_raw(nodes, kept, texts, profile.table))
  end

  # The number of the node in which a way ends.
  def way(nodes, text, edges)
    edges = edges.nil? ? ["root (not reached)"] : edges.first.start_with?("root ") ? edges : ["root (constants)", *edges]
    edges.each_with_index do |edge, index|
      kind, name, entries, bound = edge.match(/\A(\S+) (.*?)(?: #(\d+)(?:, (.*))?)?\z/m).captures
      number = nodes.size / 10
      nodes.push(index.zero? ? number : number - 1, text[kind], text[name], 0, 0, 0, 1, 0, entries ? entries.to_i : 2**32 - 1, bound ? text[bound] : 0)
    end
    (nodes.size / 10) - 1
  end

  # One text of all that is printed, without line breaks.
  def flat(text) = text.to_s.gsub(/\s+/, " ")
end
