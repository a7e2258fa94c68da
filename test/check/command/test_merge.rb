# frozen_string_literal: true

# Profiles of several processes in one, and profiles of other programs.

require_relative "../../testing"
require_relative "command_helper"

class MergeTest < Test
  include CommandHelper

  def in_dir(name) = File.join(dir, name)

  # What go tool pprof reads: its total of a value.
  def go_total(path, value)
    out, status = Open3.capture2e("go", "tool", "pprof", "-raw", path)
    flunk(out) unless status.success?
    types = out[/^Samples:\n(.*)$/, 1].split.map { |type| type[/[^\/]+/] }
    column = types.index(value)
    out[/^Samples:\n.*\n((?:.|\n)*?)^Locations/, 1].lines.grep(/\A *\d/).sum { |line| line[/\A[ \d]+:/].split(/[ :]+/).reject(&:empty?)[column].to_i }
  end

  test "merge adds processes, keeps ages, and go tool pprof reads the total" do
    builds = Array.new(40) do |index|
      sample_build("process_start" => format("%016x", index), "process_id" => 100 + index,
                   "gc" => {"count" => 100 + index, "minor" => 80, "major" => 20, "last_minor_ns" => nil, "last_major_ns" => nil})
        .malloc(["!/usr/lib/libfoo.so foo_new @0x#{(0x7f0000001000 + index * 0x100000).to_s(16)}", "app/a.rb:3 A#b"], "libfoo.so", 2000, inuse: 3)
        .mapping(0x7f0000000000 + index * 0x100000, 0x7f0000100000 + index * 0x100000, 0)
    end
    profiles = builds.each_with_index.map { |build, index| write(File.join(dir, "w#{index}.pb.gz"), PprofEncoder.gzip(build.raw)) }
    printed("merge", *profiles, "-o", in_dir("all.pb.gz"))
    one, all = HeapSample::Profile.load(profiles[0]), HeapSample::Profile.load(in_dir("all.pb.gz"))
    assert_equal(profiles.sum { |path| go_total(path, "inuse_space") }, go_total(in_dir("all.pb.gz"), "inuse_space"))
    totals = [one, all].map { |profile| profile.groups(:line).total }
    %i[inuse young alloc freed].each do |part|
      assert_equal(40 * totals[0].public_send(part).samples, totals[1].public_send(part).samples)
      assert_close(40 * totals[0].public_send(part).variance, totals[1].public_send(part).variance, 1e-3)
    end
    ages = builds.map { |build| build.profile.groups(:line).total.age(build.meta["gc"]["count"]) }
    assert_close(ages.sum / 40, totals[1].age(all.info.gc_count), 1e-6)
    # code of a library is one place, wherever it was mapped
    assert_equal(1, all.rows.select(&:malloc?).map { |row| row.stack.first.to_s }.uniq.size)
    assert_equal([40, 40, nil], [all.info.merged_processes, all.info.merged_profiles, all.info.process_start])
    refute(all.info.same_run?(all))
    assert(printed("diagnose", in_dir("all.pb.gz")).start_with?("Heap samples of 40 processes, merged"))
  end

  test "merge: what is resident and what is freed adds up" do
    stack = ["!/usr/lib/libfoo.so foo_new", "app/a.rb:3 A#b"]
    paths = Array.new(2) do |number|
      build = sample_build("process_start" => format("%016x", number + 3), "process_id" => number + 3)
      build.blocks(stack, "libfoo.so", 1 << 20, at_gc: 90, inuse: 5, resident: 4096).blocks(stack, "libfoo.so", 1 << 20, alloc: 9, freed: 4)
      write(in_dir("part#{number}.pb.gz"), PprofEncoder.gzip(build.raw))
    end
    printed("merge", *paths, "-o", in_dir("parts.pb.gz"))
    merged = HeapSample::Profile.load(in_dir("parts.pb.gz"))
    parts = paths.map { |path| HeapSample::Profile.load(path) }
    assert_equal(1, merged.info.format)
    space = ->(profile, part) { profile.groups(:line).total.then { |total| part == :freed ? total.freed.space : total.inuse.resident.space } }
    %i[resident freed].each { |part| assert_close(parts.sum { |profile| space[profile, part] }, space[merged, part], 1e-4) }
  end

  test "merge: of a process's profiles the last counts" do
    folder do |series|
      3.times { |index| write(File.join(series, "#{2 - index}.pb.gz"), PprofEncoder.gzip(sample_build("taken_ns" => Build::STARTED + (9 - index) * Build::MINUTE).raw)) }
      result = heapsample("merge", series, "-o", in_dir("last.pb.gz"))
      assert(result.status.zero? && result.err.include?("2 of 3 profiles are left out: the same processes have later ones"), result.err)
      assert_equal(go_total(File.join(series, "2.pb.gz"), "inuse_space"), go_total(in_dir("last.pb.gz"), "inuse_space"))
    end
  end

  test "merge: rows are bounded, sums stay" do
    merge = HeapSample::Tool::Merge.new(rows_max: 100)
    sums = 60.times.sum do |index|
      build = sample_build("process_start" => index.to_s)
      10.times { |line| build.row(["app/x#{index}.rb:#{line + 1} X#y", "app/main.rb:1 <main>"], "String", inuse: 1 + line, at_gc: index) }
      merge.add(build.profile)
      build.profile.groups(:class).total.inuse.space
    end
    merged = merge.profile
    assert(merged.table.size <= 150, merged.table.size.to_s)
    assert_close(sums, merged.groups(:class).total.inuse.space, 1e-9)
    assert(merged.meta["merged"]["evicted_rows"] > 0 && merged.groups(:method).any? { |group| group.key.label == "(evicted)" })
  end

  # A few hundred files of different processes, and one that is damaged.
  def fleet(series)
    paths = Array.new(300) do |index|
      build = sample_build("process_start" => format("%016x", index), "process_id" => 100 + index,
                           "gc" => {"count" => 100 + index % 50, "minor" => 80, "major" => 20, "last_minor_ns" => nil, "last_major_ns" => nil})
      4.times { |line| build.row(["app/x#{index % 90}.rb:#{line + 1} X#y", "app/main.rb:1 <main>"], "C#{index % 7}", inuse: 1 + line, at_gc: index % 60) }
      build.malloc(["!/usr/lib/lib#{index % 3}.so foo_new @0x7f0000001000", "app/a.rb:3 A#b"], "lib#{index % 3}.so", 2000, inuse: 3)
           .mapping(0x7f0000000000, 0x7f0000100000, 0)
      write(File.join(series, format("%03d.pb.gz", index)), PprofEncoder.gzip(build.raw))
    end
    write(File.join(series, "150-cut.pb.gz"), File.binread(paths[150])[0, 400])
    paths
  end

  # All that a file has, without the numbers that it gives to stacks and texts.
  def contents(profile)
    rows = profile.rows.map { |row| [row.stack.map(&:to_s), HeapSample::Columns::ALL.drop(1).map { |column| profile.text(row.columns[column.index]) }] }
    [profile.meta, rows.sort_by(&:inspect)]
  end

  test "merge: several processes give the same as one, and name what is damaged" do
    folder do |series|
      paths = fleet(series)
      one = paths.inject(HeapSample::Tool::Merge.new) { |merge, path| merge.add(HeapSample::Profile.load(path)) }.profile(files: 300)
      one.save(in_dir("one.pb.gz"))
      all = HeapSample::Tool::Merge.new
      count = 0
      work = ->(part) { part.inject(HeapSample::Tool::Merge.new) { |merge, path| merge.add(HeapSample::Profile.load(path)) } }
      HeapSample::Tool::Parts.each(paths, work, size: 70) { |part| all.add(part.profile) && count += 1 }
      all.profile(files: 300).save(in_dir("parts.pb.gz"))
      assert_equal(5, count)

      result = heapsample("merge", series, "-o", in_dir("command.pb.gz"))
      assert(result.status.zero? && result.err.lines.size == 1 && result.err.match?(/150-cut\.pb\.gz: .*: left out$/), result.err)
      expected = contents(HeapSample::Profile.load(in_dir("one.pb.gz")))
      %w[parts command].each { |name| assert_equal(expected, contents(HeapSample::Profile.load(in_dir("#{name}.pb.gz"))), name) }
    end
  end

  test "merge: a part that fails, or whose process is killed, is an error, and leaves no process behind" do
    parts = ->(work) { HeapSample::Tool::Parts.each([1, 2, 3], work, size: 1) { |result| [result] } }
    own = Process.pid
    error = assert_raises(HeapSample::FormatError) { parts.call(->(part) { part == [2] ? raise(HeapSample::FormatError, "damaged") : part }) }
    assert_equal("damaged", error.message)
    error = assert_raises(HeapSample::Tool::Failure) { parts.call(->(part) { part == [3] ? Process.kill(:KILL, Process.pid) : part }) }
    assert_includes(error.message, "was killed")
    assert_raises(Interrupt) { parts.call(->(_) { Process.pid == own ? raise(Interrupt) : sleep }) }
    assert_raises(Errno::ECHILD) { Process.wait(-1, Process::WNOHANG) }
  end

  test "merge: its processes end when it is killed" do
    lines = IO.popen([RbConfig.ruby, "-I", File.expand_path("../../../src/lib", __dir__), "-r", "heapsample/tool", "-e", <<~'RUBY'])
      $stdout.sync = true
      HeapSample::Tool::Parts.each([1, 2], ->(part) { puts Process.pid; sleep }, size: 1) { |result| puts result }
    RUBY
    pids = Array.new(2) { Integer(lines.gets) }
    Process.kill(:KILL, lines.pid)
    assert_nil(lines.gets)      # the other holds the pipe until it ends
    assert_includes(pids, lines.pid)
  ensure
    lines&.close
  end

  GO_MISSING = ("no go" unless system("go version", out: File::NULL, err: File::NULL))

  test "a profile of Go's has its figures, with intervals", missing: GO_MISSING do
    system({"GOCACHE" => in_dir("go-cache"), "HOME" => dir}, "go", "run", File.join(__dir__, "heap.go"), in_dir("go.pb.gz"), exception: true)
    rows = JSON.parse(printed("top", "--by", "method", "--json", in_dir("go.pb.gz"))).fetch("rows")
    small, large = %w[main.keepSmall main.keepLarge].map { |label| rows.find { |row| row["label"] == label || row.dig("key", "label") == label } }
    [[small, 20_000 * 1024], [large, 4 * (2 << 20)]].each do |row, bytes|
      low, high = row["interval"]
      # What is small has an error of 1%: one sixth of what may be missing.
      assert(low * 0.95 <= bytes && bytes <= high * 1.05, row.inspect)
    end
  end

  test "a profile of Datadog's has its figures, and no intervals" do
    types = {"cpu-time" => 0, "alloc-samples" => 0, "heap-live-samples" => 0, "heap-live-size" => 0}
    raw = sample_build.raw
    bytes = PprofEncoder.new(raw, types: %w[cpu-time alloc_objects inuse_objects inuse_space], meta: nil).encode
    {"alloc_objects" => "alloc-samples", "inuse_objects" => "heap-live-samples", "inuse_space" => "heap-live-size"}.each do |ours, theirs|
      bytes = bytes.sub("\x32".b + ours.bytesize.chr + ours, "\x32".b + theirs.bytesize.chr + theirs)
    end
    assert(types.keys.all? { |type| bytes.include?(type) })
    text = printed("top", write(in_dir("datadog.pb"), bytes))
    assert(text.include?("54.0 MiB (interval not known) in 1,346,819 objects"), text)
  end
end
