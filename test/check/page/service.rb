# frozen_string_literal: true

require_relative "../library/counted_series"

# Profiles of a typical program: a web server and a framework above the application's code, a library
# and native code below it.
module PageProfiles
  # Makes series with exact counts.
  COUNTED = Object.new.extend(CountedSeries)

  GEMS = "/usr/lib/ruby/gems/3.4.0/gems"
  SERVER = [
    *Array.new(12) { |i| "#{GEMS}/rack-3.2.8/lib/rack/middleware_#{11 - i}.rb:#{30 + i} Rack::Middleware#{11 - i}#call" },
    *Array.new(6) { |i| "#{GEMS}/puma-8.0.2/lib/puma/server_#{5 - i}.rb:#{90 + i} Puma::Server#step_#{5 - i}" }
  ].freeze
  DEEP_FOLDER = "#{GEMS}/a-gem-with-a-long-name-12.345.6/lib/a_gem_with_a_long_name/internal/adapters/postgresql".freeze
  CONTROLLER = ["/srv/app/app/controllers/tickets_controller.rb:11 TicketsController#show", *SERVER].freeze
  CACHE = ["/srv/app/app/models/ticket/cache.rb:12 Ticket::Cache.store", *CONTROLLER].freeze
  QUERY = ["#{GEMS}/activerecord-8.1.4/lib/active_record/result.rb:173 ActiveRecord::Result#columns",
           "#{GEMS}/activerecord-8.1.4/lib/active_record/relation.rb:50 ActiveRecord::Relation#load",
           "/srv/app/app/models/ticket.rb:40 Ticket.latest", *CONTROLLER].freeze
  HANDS_ON = ["/srv/app/lib/job.rb:5 Job#perform", "#{GEMS}/puma-8.0.2/lib/puma/pool.rb:7 Puma::Pool#run"].freeze

  def service(step: 0, pid: 4711, **meta)
    build = Build.new(taken_ns: Build::STARTED + (step + 1) * Build::MINUTE, process_id: pid, process_start: format("%016x", pid),
                      gc: {"count" => 100 + 10 * step, "minor" => 80, "major" => 20}, **meta)
    build.row(CACHE, "String", at_gc: 90, inuse: 400)
    build.row(QUERY, "Array", type: "T_ARRAY", at_gc: 40, inuse: 150)
    build.row(HANDS_ON, "Hash", type: "T_HASH", at_gc: 40, inuse: 60)
    build.row(["#{GEMS}/rack-3.2.8/lib/rack/boot.rb:3 Rack.boot", "#{GEMS}/puma-8.0.2/lib/puma/cli.rb:1 Puma.cli"], "Proc", at_gc: 2, inuse: 50)
    build.row(["/srv/app/app/models/rare.rb:9 Rare#rare", *CONTROLLER], "Rare", at_gc: 2, inuse: 1)
    # Lines whose paths differ far behind.
    4.times { |i| build.row(["#{DEEP_FOLDER}/quoting_#{i}.rb:#{100 + i} AGemWithALongName::Internal::Adapters::Quoting#{i}#quote_table_name"], "String", at_gc: 3, inuse: 12 + i) }
    build.row(["/srv/app/app/models/leak.rb:7 Leak#now", *CONTROLLER], "Array", type: "T_ARRAY", at_gc: 100 + step, inuse: 40) if step > 0
    build.row(["/srv/app/app/models/noise.rb:2 Noise#some", *CONTROLLER], "Object", type: "T_OBJECT", at_gc: 3, inuse: 5 - step, slot: 640)
    build.profile
  end

  # A stack deeper than any window, of the application's frames alone.
  def deep
    frames = Array.new(90) { |i| "/srv/app/deep_#{89 - i}.rb:#{90 - i} Deep#step_#{89 - i}" }
    build = Build.new
    build.row(frames, "String", at_gc: 3, inuse: 300)
    150.times { |i| build.row(["/srv/app/many_#{i}.rb:#{i + 1} Many#line_#{i}", *frames.last(80)], "Object", at_gc: 3, inuse: 290 - i) }
    build.row(["/srv/app/tiny.rb:8 Tiny#tiny", "/srv/app/side.rb:1 Side#side"], "Tiny", at_gc: 3, inuse: 1)
    build.profile
  end

  # --- what the page opens with ---

  DEFLATE = ["!/usr/lib/x86_64-linux-gnu/libz.so.1 deflateInit2_", "/srv/app/app/models/ticket/export.rb:8 Ticket::Export#pack", *CONTROLLER].freeze

  BOOT = ["#{GEMS}/rack-3.2.8/lib/rack/boot.rb:3 Rack.boot", "#{GEMS}/puma-8.0.2/lib/puma/cli.rb:1 Puma.cli"].freeze

  # Two processes by 24 profiles each, a minute apart. A worker leaks: its cache retains what seven lines and a gem allocate,
  # C code loses blocks, and of three smaller lines no walk found what retains them. The master's exact counts are level.
  def diagnosis
    leak = COUNTED.series(24, title: "puma: worker 0") { |minute| {slots: 40 + 1.5 * minute, malloc: 30 + minute, rows: ->(build) { (1..minute).each { |at| leaked(build, at * CountedSeries::EACH - 5) } }} }
    holders = [12, 173, *20..25].to_h { |line| [line, ["constant Ticket::CACHE", "value {} of Hash"]] }
    HeapSample::Diagnosis.new([COUNTED.walked(leak, {**holders, 8 => nil}), COUNTED.level(24, pid: 4700, title: "puma: cluster")])
  end

  # Of a process whose exact counts are level and whose samples show a line that grows.
  def level_diagnosis = HeapSample::Diagnosis.new([COUNTED.series(24) { |minute| {rows: ->(build) { COUNTED.kept(build, CACHE, minute, 9) }} }])

  # What leaks in a minute.
  def leaked(build, at_gc)
    build.row(CACHE, "String", at_gc: at_gc, inuse: 16).row([*QUERY.first(2), *CACHE], "Array", type: "T_ARRAY", at_gc: at_gc, inuse: 6)
    6.times { |line| build.row(["/srv/app/app/models/ticket/cache.rb:#{20 + line} Ticket::Cache.part_#{line}", *CONTROLLER], "Array", at_gc: at_gc, inuse: 5 - line / 2) }
    build.blocks(DEFLATE, "libz.so.1", 10_000, at_gc: at_gc, inuse: 3)
    build.row(BOOT, "Proc", at_gc: at_gc, inuse: 3).row(HANDS_ON, "Hash", at_gc: at_gc, inuse: 2).row(["/srv/app/app/models/rare.rb:9 Rare#rare", *CONTROLLER], "Rare", at_gc: at_gc, inuse: 2)
  end

  # An object in place of a Diagnosis, of which the page needs #to_h alone.
  Diagnosed = Struct.new(:data) do
    def to_h = data
  end

  # Rows with everything that makes a column, and long names; small frames; a function that calls itself.
  LONG = "Tickets::Archive::Exporters::AVeryLongNamespaceOfExporters::AttributesFromTheDatabaseWithDefaults"
  def crowded
    build = Build.new(gc: {"count" => 110, "minor" => 85, "major" => 25}, malloc: {"state" => "on", "interval" => 4096, "first_interval" => 4096, "interval_changes" => 0})
    main = "/srv/app/main.rb:3 <main>"
    walk = "/srv/app/app/models/tree.rb:5 Tree#walk"
    build.row(["/srv/app/a_folder_with_a_long_name/another_folder_with_a_long_name/export.rb:12 #{LONG}#export", walk, "/srv/app/left.rb:1 Left#go", main], LONG, at_gc: 90, inuse: 300)
    build.row(["/srv/app/leaf.rb:2 Leaf#new", walk, walk, "/srv/app/right.rb:1 Right#go", main], "Leaf", at_gc: 80, inuse: 100)
    60.times { |i| build.row(["/srv/app/small_#{i}.rb:#{i + 1} Small#line_#{i}", main], "String", at_gc: 100, inuse: 7) }
    build.malloc(["/srv/app/leaf.rb:2 Leaf#new", main], "libz.so.1", 5_000, inuse: 50)
    build.profile
  end

  # A worker that leaks since a deploy, another process, and a worker of the deploy before, which ended when that began.
  def cluster
    worker = COUNTED.series(24, title: "puma: worker 0", deploy: "v42") do |minute|
      {slots: 40 + 1.5 * minute, rows: ->(build) { (1..minute).each { |at| leaked(build, at * CountedSeries::EACH - 5) } && build.row(BOOT, "Hash", at_gc: 3, young: 3, freed: 4) }}
    end
    old = COUNTED.series(9, pid: 4600, title: "puma: worker 1", deploy: "v41", started_ns: Build::STARTED - 3 * Build::MINUTE) do |minute|
      {rows: ->(build) { COUNTED.kept(build, CACHE, minute, 2) }}
    end
    worker = COUNTED.walked(worker, {12 => ["constant Ticket::CACHE", "value {} of Hash"]})
    [worker, COUNTED.level(24, pid: 4700, title: "puma: cluster", deploy: "v42"), old]
  end

  # Findings whose holder a walk found, in three ways.
  def diagnosis_of_walks
    figures = {bytes: 6 << 20, interval: [5 << 20, 7 << 20], bytes_per_hour: 12.0 * (1 << 20), objects: 1204.0, samples: 20}
    line = {line: "/srv/app/app/models/ticket/cache.rb:12 Ticket::Cache.store", class: "String", **figures}
    holders = [{named: true, name: "@cache of Tickets", root: "(constants)", share: 0.91},
               {named: true, name: "@streams of Exporter", root: "(constants)", share: 0.7, owner: "Zlib::Deflate"},
               {named: false, name: "local x", root: "(machine stack of main thread)", share: 1.0}]
    findings = holders.map { |holder| {kind: :objects, lost: false, holder: holder, lines: [line], resident_bytes: 6 << 20, **figures} }
    findings[0][:entries] = {before: 412, now: 1204, bound: "@max_size of LruRedux::Cache", removed: 0}
    findings[1][:resident_bytes] = 2 << 20
    evidence = ["Objects in heap slots, at quarters of the time: 1.0 MiB, 2.0 MiB (exact, 20 points)."] * 3
    Diagnosed.new({state: :likely, processes: [{pids: [4711], judged: [4711], state: :likely, sentence: "Leak (likely): it grew.", grew: 18 << 20, findings: findings,
                                                evidence: evidence, next: ["Look at what is added to `@cache of Tickets`. heapsample why /var/tmp/heap"] * 3}], warnings: []})
  end

  # A process that does not leak, and has memory that nothing uses.
  def bloated
    process = {pids: [4711], judged: [4711], state: :none, sentence: "No leak found. One of 3 MiB/hour or more would have been found.", findings: [],
               evidence: ["RSS grew by 50 MiB."], next: [], unused: ["malloc: waste", 40 << 20]}
    Diagnosed.new({state: :none, processes: [process], warnings: []})
  end

  # A process in each state.
  def diagnosis_of_states
    processes = HeapSample::ProcessDiagnosis::STATES.each_with_index.map do |state, index|
      {pids: [index, index + 100], judged: [index], title: "worker", host: "h#{index}", state: state, sentence: "It is #{state}.", findings: [], evidence: [], next: []}
    end
    Diagnosed.new({state: :confirmed, processes: processes, warnings: ["one file is left out"]})
  end

  # The same of names that somebody chose with care.
  def hostile_diagnosis(names)
    text = names.join(" ")
    list = names.reject(&:empty?)
    figures = {bytes: 6, interval: [5, 7], bytes_per_hour: 12.0, objects: 1.0, samples: 1}
    line = {line: "#{text}.rb:1", app_line: text, class: text, library: text, stack: list, **figures}
    holders = [{named: true, name: text, path: text, line: 1, root: text, owner: text}, {named: false, name: text, root: text}, nil]
    findings = holders.product([true, false]).map { |holder, lost| {kind: text, lost: lost, holder: holder, lines: [line] * 6, **figures} }
    process = {pids: [text, text], judged: [text], title: text, host: text, deploy: text, rss: nil, grew: nil, bytes_per_hour: 1.0,
               state: text, sentence: text, findings: findings, evidence: list, next: list}
    Diagnosed.new({state: text, processes: [process, process.merge(host: nil, deploy: nil)], warnings: list})
  end
end
