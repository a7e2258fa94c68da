# frozen_string_literal: true

# What the tool writes, merges and runs.

require "tool"
require "heapsample/tool"

# What go tool pprof reads: its total of a value.
def go_total(path, value)
  out, status = Open3.capture2e("go", "tool", "pprof", "-raw", path)
  flunk(out) unless status.success?
  types = out[/^Samples:\n(.*)$/, 1].split.map { |type| type[/[^\/]+/] }
  column = types.index(value)
  out[/^Samples:\n.*\n((?:.|\n)*?)^Locations/, 1].lines.grep(/\A *\d/).sum { |line| line[/\A[ \d]+:/].split(/[ :]+/).reject(&:empty?)[column].to_i }
end

WORK = <<~'RUBY'
  def keep(count) = ($kept ||= []).concat(Array.new(count) { |index| index % 3 == 0 ? "x" * 50 : [index] })
  keep(100_000)
  Thread.new { 3.times { keep(50_000) } }.join
  1000.times { [1, 2].map { |number| number.to_s * 3 } }
RUBY

folder do |dir|
  in_dir = ->(name) { File.join(dir, name) }

  # The sampler's own encoders and ours, of the same snapshot.
  def written_twice(dir, settings)
    script = "#{WORK}\nrequire 'heapsample'\nsnapshot = GC.sample_profile\n" \
             "formats = %w[pb folded json]\nformats.each { |format| snapshot.save(\"\#{ARGV[0]}/c.\#{format}\") }\n" \
             "formats.each { |format| snapshot.to_profile.save(\"\#{ARGV[0]}/r.\#{format}\") }\n" \
             "formats.each { |format| GC::SampleProfile.load(\"\#{ARGV[0]}/c.pb\").save(\"\#{ARGV[0]}/l.\#{format}\") }"
    out, status = Open3.capture2e({**CLEAN, "RUBY_HEAP_SAMPLE" => "#{settings},output=#{dir}/exit.pb.gz"}, OURS, "--disable=gems",
                                  *"-I", "src/lib", "-e", script, dir)
    flunk(out) unless status.success?
  end

  # All that a file of pprof has of a profile, but for the order of its rows.
  def said_by(path) = HeapSample::Profile.load(path).then { |profile| [profile.meta, profile.rows.map { |row| row.to_h.inspect }.sort] }

  test "of a snapshot of slots all formats say what the sampler writes" do
    written_twice(dir, "interval=4k,malloc=off")
    equal(*%w[c r].map { |name| said_by(in_dir["#{name}.pb"]) })
    %w[folded json].each { |format| assert(File.binread(in_dir["c.#{format}"]) == File.binread(in_dir["r.#{format}"]), format) }
    printed("convert", in_dir["c.pb"], "-o", in_dir["again.pb"])
    assert(File.binread(in_dir["c.pb"]) == File.binread(in_dir["again.pb"]), "a file, read and written")
    printed("convert", in_dir["c.pb"], "-o", in_dir["again.pb.gz"])
    assert(Zlib.gunzip(File.binread(in_dir["again.pb.gz"])) == File.binread(in_dir["c.pb"]))
  end

  # A file rounds the figures of each row, so that the sum of many differs by half of one for each.
  test "a loaded profile saves what it was saved from" do
    written_twice(dir, "interval=4k,malloc=off")
    assert(File.binread(in_dir["c.pb"]) == File.binread(in_dir["l.pb"]))
    live, loaded = %w[c l].map { |name| File.readlines(in_dir["#{name}.folded"]).to_h { |line| line.chomp.rpartition(" ").values_at(0, 2) } }
    equal(live.keys.sort, loaded.keys.sort)
    rounding = HeapSample::Profile.load(in_dir["c.pb"]).table.map { |row| row[HeapSample::Columns::STACK] }.tally.values.max / 2.0
    alike = ->(one, other) { assert((one - other).abs <= [rounding, 1e-4 * one].max, "#{one} and #{other}, at most #{rounding} apart") }
    live.each { |stack, value| alike[value.to_f, loaded[stack].to_f] }
    live, loaded = %w[c l].map { |name| JSON.parse(File.read(in_dir["#{name}.json"]))["profiles"].map { |profile| profile["weights"].sort } }
    equal(live.map(&:size), loaded.map(&:size))
    live.flatten.zip(loaded.flatten) { |one, other| alike[one, other] }
  end

  test "with malloc they do, too" do
    written_twice(dir, "interval=64k")
    %w[folded json].each { |format| assert(File.binread(in_dir["c.#{format}"]) == File.binread(in_dir["r.#{format}"]), format) }
    equal(*%w[c r].map { |name| said_by(in_dir["#{name}.pb"]) })
  end

  test "run: a Ruby command's output, exit status and report" do
    result = heapsample("run", "-o", in_dir["run"], "interval=16k", "--", OURS, "-e", "#{WORK}\nputs 1\nexit 3")
    equal(["1\n", 3], [result.out, result.status])
    assert(result.err.include?("keep") && result.err.include?("Profile: #{dir}/run/heap-"), result.err)
    equal(1, Dir.children(in_dir["run"]).size)
  end

  test "run: children count too; --json; -q says nothing" do
    script = "#{WORK}\nfork { keep(1_000) }\nProcess.wait"
    result = heapsample("run", "--json", "interval=16k", "-o", in_dir["fork"], "--", OURS, "-e", script)
    json = JSON.parse(result.err[/^\{.*^\}/m])
    assert(json.key?("top"), json.keys.inspect)
    equal(2, Dir.children(in_dir["fork"]).size)
    quiet = heapsample("run", "-q", "-o", in_dir["quiet"], "--", OURS, "-e", "1").err
    assert(!quiet.include?("In use"), quiet)
  end

  test "run: settings that make no sense are not taken for a Ruby without the sampler" do
    result = heapsample("run", "interval=abc", "--", OURS, "-e", "1")
    equal(1, result.status)
    assert(result.err.lines.last.match?(/: no profile was written; check interval=abc \(any error is above\), and that its Ruby has the heap sampler$/), result.err)
    assert(heapsample("run", "--", "/bin/true").err.match?(/no profile was written; check that its Ruby has the heap sampler$/))
  end

  test "run: a signal that ends the command ends the tool; one to the tool reaches the command" do
    equal(128 + 15, heapsample("run", "-q", "--", OURS, "-e", "Process.kill(:TERM, $$); sleep").status)
    script = "trap(:TERM) { puts 'told'; exit 7 }; puts 'ready'; $stdout.flush; sleep"
    Open3.popen3(CLEAN, READER, "--disable=gems", EXE, "run", "-q", "--", OURS, "-e", script) do |_, out, _, waiter|
      out.gets
      Process.kill(:TERM, waiter.pid)
      equal(["told\n", 7], [out.read, waiter.value.exitstatus])
    end
  end

  test "a heapsample under RUBY_HEAP_SAMPLE is not sampled itself" do
    Dir.chdir(dir) { printed("help", env: {"RUBY_HEAP_SAMPLE" => "output=#{in_dir["self.pb.gz"]}"}) }
    assert(!File.exist?(in_dir["self.pb.gz"]))
  end

  test_if File.executable?(DEBIAN), "run: a Ruby without the sampler is told in a line", "no /usr/bin/ruby" do
    fails(1, %r{/usr/bin/ruby, a Ruby without the heap sampler}, "run", "--", DEBIAN, "-e", "1")
    fails(1, /nowhere: no such command/, "run", "--", "nowhere")
    fails(2, /the -- before the command is missing/, "run", "ruby")
    fails(2, /output= cannot be set here; name the folder with -o/, "run", "output=x", "--", "ruby")
  end

  test "merge adds processes, keeps ages, and go tool pprof reads the total" do
    builds = Array.new(40) do |index|
      sample_build("process_start" => format("%016x", index), "process_id" => 100 + index,
                   "gc" => {"count" => 100 + index, "minor" => 80, "major" => 20, "last_minor_ns" => nil, "last_major_ns" => nil})
        .malloc(["!/usr/lib/libfoo.so foo_new @0x#{(0x7f0000001000 + index * 0x100000).to_s(16)}", "app/a.rb:3 A#b"], "libfoo.so", 2000, inuse: 3)
        .mapping(0x7f0000000000 + index * 0x100000, 0x7f0000100000 + index * 0x100000, 0)
    end
    profiles = builds.each_with_index.map { |build, index| write(File.join(dir, "w#{index}.pb.gz"), PprofWriter.gzip(build.raw)) }
    printed("merge", *profiles, "-o", in_dir["all.pb.gz"])
    one, all = HeapSample::Profile.load(profiles[0]), HeapSample::Profile.load(in_dir["all.pb.gz"])
    equal(profiles.sum { |path| go_total(path, "inuse_space") }, go_total(in_dir["all.pb.gz"], "inuse_space"))
    totals = [one, all].map { |profile| profile.groups(:line).total }
    %i[inuse young alloc dead].each do |part|
      equal(40 * totals[0].public_send(part).samples, totals[1].public_send(part).samples)
      close(40 * totals[0].public_send(part).variance, totals[1].public_send(part).variance, 1e-3)
    end
    ages = builds.map { |build| build.profile.groups(:line).total.age(build.meta["gc"]["count"]) }
    close(ages.sum / 40, totals[1].age(all.info.gc_count), 1e-6)
    # code of a library is one place, wherever it was mapped
    equal(1, all.rows.select(&:malloc?).map { |row| row.stack.first.to_s }.uniq.size)
    equal([40, 40, nil], [all.info.merged_processes, all.info.merged_profiles, all.info.process_start])
    assert(!all.info.same_run?(all))
    assert(printed("report", in_dir["all.pb.gz"]).start_with?("Heap samples of 40 processes, merged"))
  end

  test "merge: what is resident and what is dead adds up" do
    stack = ["!/usr/lib/libfoo.so foo_new", "app/a.rb:3 A#b"]
    paths = Array.new(2) do |number|
      build = sample_build("process_start" => format("%016x", number + 3), "process_id" => number + 3)
      build.blocks(stack, "libfoo.so", 1 << 20, birth: 90, inuse: 5, resident: 4096).blocks(stack, "libfoo.so", 1 << 20, alloc: 9, dead: 4)
      write(in_dir["part#{number}.pb.gz"], PprofWriter.gzip(build.raw))
    end
    printed("merge", *paths, "-o", in_dir["parts.pb.gz"])
    merged = HeapSample::Profile.load(in_dir["parts.pb.gz"])
    parts = paths.map { |path| HeapSample::Profile.load(path) }
    equal(1, merged.info.format)
    space = ->(profile, part) { profile.groups(:line).total.then { |total| part == :dead ? total.dead.space : total.inuse.resident.space } }
    %i[resident dead].each { |part| close(parts.sum { |profile| space[profile, part] }, space[merged, part], 1e-4) }
  end

  test "merge: of a process's profiles the last counts" do
    folder do |series|
      3.times { |index| write(File.join(series, "#{2 - index}.pb.gz"), PprofWriter.gzip(sample_build("taken_ns" => Build::STARTED + (9 - index) * Build::MINUTE).raw)) }
      result = heapsample("merge", series, "-o", in_dir["last.pb.gz"])
      assert(result.status.zero? && result.err.include?("2 of 3 profiles are left out: the same processes have later ones"), result.err)
      equal(go_total(File.join(series, "2.pb.gz"), "inuse_space"), go_total(in_dir["last.pb.gz"], "inuse_space"))
    end
  end

  test "merge: rows are bounded, sums stay" do
    merge = HeapSample::Tool::Merge.new(rows_max: 100)
    sums = 60.times.sum do |index|
      build = sample_build("process_start" => index.to_s)
      10.times { |line| build.row(["app/x#{index}.rb:#{line + 1} X#y", "app/main.rb:1 <main>"], "String", inuse: 1 + line, birth: index) }
      merge.add(build.profile)
      build.profile.groups(:class).total.inuse.space
    end
    merged = merge.profile
    assert(merged.table.size <= 150, merged.table.size.to_s)
    close(sums, merged.groups(:class).total.inuse.space, 1e-9)
    assert(merged.meta["merged"]["evicted_rows"] > 0 && merged.groups(:method).any? { |group| group.key.label == "(evicted)" })
  end

  go = system("go version", out: File::NULL, err: File::NULL)
  test_if go, "a profile of Go's has its figures, with intervals", "no go" do
    system({"GOCACHE" => in_dir["go-cache"], "HOME" => dir}, "go", "run", "test/fast/heapsample/heap.go", in_dir["go.pb.gz"], exception: true)
    rows = JSON.parse(printed("top", "--by", "method", "--json", in_dir["go.pb.gz"])).fetch("rows")
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
    bytes = PprofWriter.new(raw, types: %w[cpu-time alloc_objects inuse_objects inuse_space], meta: nil).encode
    {"alloc_objects" => "alloc-samples", "inuse_objects" => "heap-live-samples", "inuse_space" => "heap-live-size"}.each do |ours, theirs|
      bytes = bytes.sub("\x32".b + ours.bytesize.chr + ours, "\x32".b + theirs.bytesize.chr + theirs)
    end
    assert(types.keys.all? { |type| bytes.include?(type) })
    text = printed("top", write(in_dir["datadog.pb"], bytes))
    assert(text.include?("54.0 MiB (interval not known) in 1,346,819 objects"), text)
  end
end
