# frozen_string_literal: true

require "heapsample"
require_relative "../library/builds"
require_relative "service"

# The profiles of which pages are made, and what the library says of them.
module PageProfiles
  include Builds

  ROOT = "/srv/app"
  LAYOUT = HeapSample::Layout.new(root: ROOT)

  # As the page calls a group: its place and its name.
  def names(key)
    return ["", key.empty? ? "(unknown)" : key] unless key.is_a?(HeapSample::Place)

    line = key.line.to_i > 0 ? ":#{key.line}" : ""
    [key.path.empty? ? "" : LAYOUT.path(key.path) + line, key.label.to_s]
  end

  def figures(key, estimate, unit)
    {name: names(key), value: unit == "objects" ? estimate.objects : estimate.space, samples: estimate.samples,
     objects: estimate.objects, weak: estimate.weak?, interval: unit == "objects" ? estimate.objects_interval : estimate.space_interval}
  end

  VALUES = {"inuse" => :inuse, "allocated" => :alloc, "young" => :young, "freed" => :freed}.freeze

  def expected(profile)
    VALUES.to_h do |value, estimate|
      [value, HeapSample::Groups::BY.to_h do |by|
        [by, HeapSample::Groups::MEMORY.to_h do |memory|
          groups = profile.groups(by, kind: memory).reject { |group| group.public_send(estimate).zero? }
          [memory, %w[bytes objects].to_h { |unit| [unit, groups.map { |group| figures(group.key, group.public_send(estimate), unit) }] }]
        end]
      end]
    end
  end

  def expected_growth(growth)
    HeapSample::Groups::BY.to_h do |by|
      groups = growth.groups(by).reject(&:zero?)
      changes = growth.changes(groups)
      [by, groups.map do |group|
        {name: names(group.key), value: group.space, samples: group.samples, interval: group.space_interval, weak: group.weak?,
         direction: {grown: 1, shrunk: -1, noise: 0}.fetch(changes[group])}
      end]
    end
  end

  # --- one profile with every kind of row ---

  def mixed
    build = malloc_build(memsize: true, gc: {"count" => 110, "minor" => 85, "major" => 25}, account: account(1), account_at_start: account(0))
    sample = sample_build
    sample.raw[:rows].map { |row| HeapSample::Columns.to_h(row) }.each do |row|
      stack = []
      node = row[:stack]
      until node.zero?
        stack << frame_line(sample.raw, sample.raw[:nodes][node * 2 + 1])
        node = sample.raw[:nodes][node * 2]
      end
      counts = %i[inuse young alloc freed].to_h { |part| [part, row[:"#{part}_samples"]] }
      build.row(stack, sample.raw[:texts][row[:class]], type: sample.raw[:texts][row[:type]], slot: row[:slot_size], thread: row[:thread],
                at_gc: row[:allocation_gc], **counts)
    end
    # An interval by the normal approximation, one by the exact one, and the least there is.
    build.row(["/srv/app/many.rb:1 Many#many"], "Many", at_gc: 1, inuse: 5_000)
         .row(["/srv/app/many.rb:2 Many#few"], "Few", slot: 640, at_gc: 108, inuse: 1, alloc: 1)
  end

  def frame_line(raw, id)
    label, path, _, line, = raw[:frames][id * 5, 5]
    "#{raw[:texts][path]}:#{line} #{raw[:texts][label]}"
  end

  def account(step)
    parts = {"slots_live" => 40 + 10 * step, "slots_free" => 8, "malloc_live" => 20 + 5 * step, "malloc_waste" => 4, "malloc_metadata" => 1,
             "stacks" => 1, "code_and_files" => 12, "jit" => 0, "sampler" => 1, "unattributed" => 2}
    bytes = parts.transform_values { |mebibytes| mebibytes << 20 }
    bytes.merge("rss" => bytes.values.sum, "pss" => nil, "taken_ns" => Build::STARTED, "cost_ns" => 1, "allocator" => "jemalloc 5.3.0")
  end

  # --- blocks of malloc, allocated and freed, some of them never touched ---

  def blocks
    threads = ["#{RUBY} thread_create_core", "/srv/app/pool.rb:9 Pool#grow", MAIN]
    buffer = ["#{RUBY} str_buf_new", "/srv/app/load.rb:12 Loader#read", MAIN]
    Build.new.row(buffer.last(2), "String", at_gc: 90, inuse: 40)
         .blocks(threads, "ruby", 1 << 20, at_gc: 95, inuse: 400, resident: 16 << 10).blocks(threads, "ruby", 1 << 20, alloc: 400)
         .blocks(buffer, "ruby", 20_000, alloc: 100, freed: 60, lived: 2).blocks(buffer, "ruby", 20_000, at_gc: 80, inuse: 40).profile
  end

  # --- a series: what is steady, grows, shrinks, and what is not known ---

  def series_profile(step)
    main = "/srv/app/main.rb:3 <main>"
    build = Build.new(taken_ns: Build::STARTED + (step + 1) * Build::MINUTE, account: account(step), account_at_start: account(0),
                      gc: {"count" => 100 + 10 * step, "minor" => 80 + 10 * step, "major" => 20})
    build.row(["/srv/app/steady.rb:1 Steady#keep", main], "String", at_gc: 5, inuse: 200)
    build.row(["/srv/app/shrinks.rb:1 Shrinks#drop", main], "Hash", type: "T_HASH", at_gc: 6, inuse: 120 - 25 * step)
    (1..step).each { |at_gc| build.row(["/srv/app/leak.rb:7 Leak#now", main], "Array", type: "T_ARRAY", at_gc: 100 + at_gc, inuse: 30) }
    build.row(["/srv/app/noise.rb:2 Noise#some", main], "Object", type: "T_OBJECT", at_gc: 90 + step, inuse: step == 4 ? 4 : 3)
    build.profile
  end

  # Of these lines every 30th grows; of the others some seem to, by chance.
  def many_profile(step)
    random = Random.new(step)
    build = Build.new(taken_ns: Build::STARTED + (step + 1) * Build::MINUTE, gc: {"count" => 100 + 10 * step, "minor" => 80, "major" => 20})
    180.times do |line|
      build.row(["/srv/app/many.rb:#{line + 1} Many#some"], "Object", at_gc: 80 + step, inuse: 15 + random.rand(18) + (line % 30 == 0 ? 45 * step : 0))
    end
    build.profile
  end

  # --- names that somebody chose with care ---

  HOSTILE = [
    "</script><img src=x onerror=window.pwned=1>", "<b>bold</b>", "__proto__", "constructor", "toString", "", "\u202Egnp.exe\u202C",
    "a\u0000b\tc\nd\e[31mred", "-->", "<!--", "javascript:window.pwned=1", "&lt;&amp;", "'\"`${window.pwned=1}", "Ä" * 20_000, "\u{1F4A9} café"
  ].freeze

  def hostile
    build = Build.new(ruby: "</script><script>window.pwned=1</script>")
    HOSTILE.each_with_index do |name, index|
      path = name.tr(":", ";")
      label = name.delete("\n")
      build.row(["/srv/#{path}.rb:#{index + 1} #{label}", "#{path}:1 <main>"], name, type: name, at_gc: 3, inuse: 20 + index)
    end
    build.malloc(["!/usr/lib/</script>.so </script><i>", "/srv/x.rb:1 x"], "</script>.so", 100, inuse: 3)
    build.profile
  end

  def filtered(profile, &block)
    rows = profile.table.select(&block)
    HeapSample::Profile.new(meta: profile.meta, texts: profile.texts, stacks: profile.stacks, rows: rows)
                       .groups(:class).total.inuse.then { |total| [total.space, total.samples, total.space_interval] }
  end

  # Of the profile of +mixed+, what each filter leaves.
  def filters(mixed)
    text = mixed.texts.method(:[])
    at = HeapSample::Columns
    {
      class: filtered(mixed) { |row| text[row[at::CLASS]] == "String" },
      part: filtered(mixed) { |row| text[row[at::CLASS]].include?("a") },
      type: filtered(mixed) { |row| text[row[at::TYPE]] == "T_OBJECT" },
      gem: filtered(mixed) { |row| (site = mixed.stacks.site(row[at::STACK])) && mixed.stacks.frame(site).path.include?("model-7.1.2") },
      age: filtered(mixed) { |row| row[at::ALLOCATION_GC] && (10..90).cover?(110 - row[at::ALLOCATION_GC]) },
      search: filtered(mixed) { |row| mixed.stacks.stack(row[at::STACK]).any? { |frame| frame.to_s.include?("load.rb") } }
    }
  end

  # What the report writes of a profile's lines.
  def written(profile)
    profile.groups(:line).reject { |group| group.inuse.zero? }.map { |group| [names(group.key), LAYOUT.size(group.inuse), LAYOUT.interval(group.inuse)] }
  end

  # Of each finding of a process, its figures and the figures of its lines, as in the report.
  def cards(process)
    process[:findings].map do |finding|
      {bytes: finding[:bytes], figures: line_figures(finding), rate: LAYOUT.bytes(finding[:bytes_per_hour], sign: true),
       share: LAYOUT.percent(finding[:bytes] / process[:findings].sum { |one| one[:bytes] }), lines: finding[:lines].map { |line| line.merge(written: line_figures(line)) }}
    end
  end

  def line_figures(line)
    counts = line.values_at(:objects, :samples).map { |count| LAYOUT.count(count) }
    [*LAYOUT.figure(line[:bytes], line[:interval], sign: true), LAYOUT.bytes(line[:bytes_per_hour], sign: true), *counts]
  end

  def growths(series) = [0, 2, 3].map { |base| expected_growth(series.last - series[base]) }
end
