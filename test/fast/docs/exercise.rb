# frozen_string_literal: true

# Calls what sig/ describes, on real data: two snapshots of this process, saved and loaded, and a series.
# Usage: ruby -r ./typed.rb exercise.rb FOLDER [brief]     (FOLDER is made, and holds what is saved)

require "fileutils"
require "stringio"
require "tempfile"
require "heapsample/sample_profile"
require "heapsample/assertions"
# So that rbs/test sees each class when it ends, before it is used.
HeapSample.constants.each { |name| HeapSample.const_get(name) }

folder = ARGV.fetch(0)
FileUtils.mkdir_p(folder)

GC::SampleProfile.stop if GC::SampleProfile.running?
GC::SampleProfile.start(interval: 1024, max_samples: 100_000, seed: 1)
GC::SampleProfile.start(interval: 2048)

Kept = Struct.new(:name, :list)
KEPT = []
def work(count) = Array.new(count) { |index| "text number #{index} " * 5 }
def keep(count) = count.times { |index| KEPT << Kept.new("kept #{index}", [index] * 100) }

# Twelve snapshots, the heap growing.
profiles = Array.new(12) do |index|
  keep(300)
  work(2_000)
  GC.start
  GC.start
  GC.sample_profile(full_gc: index.even?, memsize: index == 11).tap do |profile|
    profile.save(File.join(folder, format("%02d.pb.gz", index)))
  end
end
earlier, middle, now = profiles.values_at(0, 5, 11)
# All that the control needs.
now.to_profile.info.gc_count
exit if ARGV[1] == "brief"

# GC::SampleProfile itself.
GC::SampleProfile.memory
GC::SampleProfile.stat
GC::SampleProfile.with_labels(tenant: "acme") do
  GC::SampleProfile.set_labels(shard: 7)
  GC::SampleProfile.labels
  keep(300)
end
# rbs/test finds a class where one in Ruby ends, and this one is C's, made when it is wanted.
GC::SampleProfile.prepare_labels
class GC::SampleProfile::PreparedLabels; end
prepared = GC::SampleProfile.prepare_labels(tenant: "umbrella")
prepared.with { keep(10) }
prepared.leave(prepared.enter)
book = GC::SampleProfile.label_book { |klass, name| prepared if klass == Object && name == "index" }
book.leave(Object.new, "index", book.enter(Object.new, "index"))
book.clear
labelled = GC.sample_profile
labelled.filter(label: {tenant: "acme"}).label_names
labelled.top(by: "label:tenant").to_s
HeapSample::Groups.by("label:tenant")
HeapSample::Web.call({"REQUEST_METHOD" => "GET", "PATH_INFO" => "/"})
HeapSample::Web.new { nil }.call({"REQUEST_METHOD" => "GET", "PATH_INFO" => "/report"})
sample = now.samples.find(&:object)
GC::SampleProfile.stack_of(sample.object)
GC::SampleProfile.raw_stack_of(sample.object)
GC::SampleProfile.stack_of(1)
%i[class_name type slot_size memsize weight age allocation_gc thread young? locations object to_h inspect].each { |name| sample.public_send(name) }
sample.deconstruct_keys(nil)
GC::SampleProfile.raw_columns
now.raw_samples
now.raw
now.inspect
GC::SampleProfile.diagnose([*profiles[0, 11], now]).to_s
GC.sample_profile(interval: 4096, threads: :all) { work(100) }.rows
GC.sample_profile { keep(10) }.report.to_s

# Calls each reader of an object that takes nothing. A method that rbs/test watches takes anything: the original is next to it.
def read(object)
  names = object.class.public_instance_methods(false)
  names.grep_v(/__with(out)?__/).each do |name|
    original = names.find { |other| other.start_with?("#{name.to_s.delete_suffix("?")}__without__") } || name
    object.public_send(name) if object.method(original).arity.zero?
  end
end

KINDS = %i[both slots malloc].freeze
def analyses(profile)
  HeapSample::Groups::BY.each do |by|
    analysis = profile.report(by: by, top: 5)
    analysis.to_s
    analysis.to_h
  end
  KINDS.each { |kind| profile.top(kind: kind).each { |row| read(row) } }
  [profile.top(by: :class, value: :inuse_objects), profile.top(value: "alloc_space"), profile.churn, profile.report, profile.generations,
   profile.generations(age: 1..), profile.tree, profile.tree(direction: :callers, by: :method)].each do |analysis|
    [analysis.to_s, analysis.text(width: 60, root: "/", stacks: true).to_s, analysis.to_h, analysis.inspect, analysis.layout, analysis.deconstruct_keys(nil)]
  end
  profile.generations.each { |generation| read(generation) }
  [read(profile.churn), profile.report.malloc_functions, read(profile.top), profile.top.first.deconstruct_keys(%i[rank])]
  %w[pb.gz folded json].each { |format| profile.save(StringIO.new("".b), format: format) }
  nodes = [profile.tree.root]
  while (node = nodes.shift)
    read(node)
    nodes.concat(node.children)
  end
end

analyses(now)
loaded = HeapSample::Profile.load(File.join(folder, "11.pb.gz"))
analyses(loaded)
HeapSample::Profile.load(File.open(File.join(folder, "05.pb.gz"), "rb"), name: "-")
[now.to_profile, loaded].each do |profile|
  read(profile)
  profile.rows.first(20).each { |row| [read(row), read(row.inuse), row.stack.each { |frame| read(frame) }] }
  profile.groups(:class).each { |group| [read(group), group.age(profile.info.gc_count)] }
  read(profile.groups(:line))
  profile.groups(:line).largest(:inuse, 3)
  read(profile.info)
  read(profile.info.forced)
  times = profile.info.gc_times
  times.each { |begun| times.allocated_at(begun.gc) }
  times.size
  record = HeapSample::GCRecord.of(profile.info)
  record.profile = profile
  [record, *record.entries, *record.causes, HeapSample::GCCost.new(record)].each { |one| read(one) }
  HeapSample::GCReport.new(record).then { |report| [report.to_s, report.to_h, report.text.lines(3), report.text.summary, report.text.to_csv] }
  account = profile.info.account
  read(account)
  account.since(profile.info.account_at_start)
  alive = profile.info.alive
  read(alive)
  [alive[:threads], *alive.threads.made].each { |population| read(population) }
  HeapSample::Alive.of(profile.meta["alive"]).since(HeapSample::Alive.new({})).each { |change| read(change) }
  [read(profile.about), profile.to_profile]
  part = profile.filter(class: ["String", /Kept/], age: 0.., kind: :slots)
  read(part.filtered)
  part.report.to_s
  profile.filter(path: "exercise.rb", stack: "Object#keep", type: "T_STRUCT").top.to_a
end
total = now.to_profile.groups(:line).total.inuse
HeapSample::Estimate.sum([total, total + total])
[total.without(total), total.less(total), total.common(total, 2), total.with_space(7), total.interval(:objects), total.space_interval(unit: 1.0)]
total => {samples: Numeric}

[total == total.dup, total.deconstruct_keys(nil)]

# What retains memory, with paths that are made up.
raw = now.raw.merge(meta: HeapSample::MetaMessage.decode(now.raw[:meta_message]).merge("kept" => {"refused" => nil, "objects" => 10, "ns" => 10}))
texts = raw[:texts].size
raw[:texts] += ["root", "(constants)", "constant", "KEPT", "element", "[] of Array"]
raw[:holders] = [[0, 0, 1], [0, 2, 3], [1, 4, 5]].flat_map { |parent, kind, name| [parent, texts + kind, texts + name, 0, 0, 0, 1, 0, 2**32 - 1, 0] }
raw[:kept] = raw[:rows].each_index.flat_map { |row| [row, 2, *raw[:rows][row].values_at(*%i[OBJECTS SPACE VARIANCE].map { |name| HeapSample::Columns.const_get(:"INUSE_#{name}") })] }
known = HeapSample::Profile.from_raw(raw)
why = known.why(since: earlier, full: true)
[why, known.why(by: :line)].each { |one| [read(one), one.to_s, one.to_h, one.inspect, one.text.to_markdown, one.text.to_folded] }
nodes = [why.root]
while (node = nodes.shift)
  read(node)
  nodes.concat(node.children)
end
[read(known.holders), known.holders.each { |held| read(held) }, known.holders.of(known.table).all, known.holders.parent(3), known.holders.path(3), known.holders.nodes(3), known.holders.linked(3)]
edge = known.holders.edge(3)
[read(edge), edge == edge.dup, read(edge.of_several), edge.names_owner_of?(edge), known.info.walk.then { |walk| read(walk) }, HeapSample::Walk.of(nil)]
HeapSample::Holders.from_raw(nil, nil, raw[:texts], raw[:rows])
nearest = known.nearest_holder
[nearest.node(3), nearest.of_rows(known.table) { |_, estimate| estimate }, nearest.of_row(known.table.first), nearest.of(known.holders.all, known: true)].grep(HeapSample::NearestHolder::Answer).each { |answer| [read(answer), answer.to_s] }
now.why(top: 3).reason

# Growth.
[now - earlier, loaded - middle.to_profile].each do |growth|
  read(growth)
  growth.report(by: :class).to_h
  report = growth.report
  [report.to_s, report.inspect, report.to_h(stacks: true), read(report)]
  groups = growth.groups(:line)
  growth.changes(groups)
  groups.first(20).each { |group| report.holder(group) }
  groups.first(20).each { |group| [read(group), read(group.gained), group.significant?, group.deconstruct_keys(nil)] }
  growth.rows.first(20).each { |row| read(row) }
end
retained = HeapSample::Retained.new(earlier, middle, now)
[retained.to_s, read(retained), retained.to_h, retained.inspect, retained.one_process?]
retained.each { |row| [read(row), row.deconstruct_keys(nil)] }
HeapSample::Retained::Entry.new("key").compare(total, total, total)

# A series.
series = HeapSample::Series.load(folder)
read(HeapSample::PeakUsage.of(series, least: 0) { |info| info.gc_count })
HeapSample::Series.all(profiles)
history = series.line("exercise.rb:#{File.readlines(__FILE__).index { |line| line.start_with?("def keep") } + 1}")
[read(history), history.to_s, history.to_h, history.inspect, history.moments.each { |moment| read(moment) }]
begin
  series.line("nowhere.rb:1")
rescue HeapSample::LineHistory::NotFound => e
  e.places
end
HeapSample::Series.all(folder)
read(series)
series.upto(3).size
series.filter(class: "Kept")
diagnosis = GC::SampleProfile.diagnose(folder)
[diagnosis, HeapSample::Diagnosis.of(series)].each { |whole| [read(whole), whole.each { |process| read(process) }] }
[diagnosis.to_h, diagnosis.first.to_h, diagnosis.first.lines.per_hour(1), series.diagnosis, HeapSample::ProcessDiagnosis.new([series])]
read(diagnosis.first.lines)
# Which lines are certain is left to chance, so these are made.
place = HeapSample::Place.new("exercise.rb", 1, nil)
row = loaded.table.max_by { |one| one[HeapSample::Columns::INUSE_SPACE] }
lines = [2, 1].map { |times| HeapSample::LineGrowth.new(place).tap { |line| [*Array.new(times) { line.came(loaded, row, [1.0, 0.0, 0.0]) }, line.was_there(row), line.is_still_there(row)] } }
walks = HeapSample::Walks.new(known, -> { known })
local = HeapSample::Edge.new("local kept of Object#work", "local")
of_local = HeapSample::NearestHolder::Answer.new(local, [HeapSample::Edge.new("(threads)", "root"), local], 1.0, 1.0, 2, 2, 2)
[read(walks), walks.entries(known.nearest_holder.of(known.holders.all)), walks.local_held?(place, of_local), HeapSample::Walks.of(series)]
[nearest.inner(known.holders.all, of_local), walks.grew_within?(place, of_local, of_local)]
[walks.grew?(place, of_local), walks.steady?(place, of_local), walks.replaces?(place, of_local), walks.outside(known.holders.all, of_local)]
read(HeapSample::Walks::Entries.new(1, 20, nil, Time.now, 0.0))
HeapSample::Walks::Entries.new(1, 20, nil, Time.now, 0.0).then { |entries| [entries.grew?(8), entries.sentences(HeapSample::Layout.new)] }
lines.each { |line| [line.holder = line.partly = line.walks = nil, read(line), line.to_h(stacks: true) { |bytes| bytes * 2 }] }
HeapSample::Finding.all(lines) { |holder| holder.to_s }.each { |finding| [read(finding), finding.grows_without_limit?(8), finding.to_h { |bytes| bytes * 2 }] }

# A leak that ended: more points than this process has major GCs.
points = Array.new(60) { |at| HeapSample::Verdict::Point.new(60.0 * at, 1000 * at, 1_000_000 + 50_000 * [at, 30].min) }
counts = HeapSample::Counts.new({slots: points, threads: points}, 10 << 20)
[read(counts), HeapSample::Counts.sum([counts, counts]), counts[:slots], counts.in_state(:leak, :ended)]
counts.all.each { |count| [read(count), read(count.verdict), count.verdict.add(points.last.dup)] }

# Assertions, where a failure is of interest too.
suite = Object.new.extend(HeapSample::Assertions)
def suite.assert(value, message = nil) = value || raise(message.is_a?(Proc) ? message.call : message.to_s)
suite.assert_retains_at_most(1_000_000, warmup: 1) { work(3) && nil }
begin
  suite.assert_no_leak(runs: 6) { work(3) && nil }
rescue RuntimeError => error
  raise unless error.message.include?("leaks")          # what rbs/test remembers of each run
end
suite.assert_allocates_at_most(1_000_000) { work(3) && nil }
suite.assert_peak_at_most(1 << 40) { work(3) && nil }

# A file of heapsample/gc_log.
File.write(File.join(folder, "1.gc.json"), JSON.generate(format: 1, missing: %w[pause], causes: [["force", 1, 0.1, nil]], entries: [[1, 1.0, 1, 1, "force", 0.1, 0.0, nil, 9, nil, 3, 4, 5]]))
HeapSample::GCRecord.load(File.join(folder, "1.gc.json")).inspect
# Runs of a command, and their comparison.
2.times do |number|
  FileUtils.mkdir_p(File.join(folder, "runs", "run-00#{number}"))
  File.write(File.join(folder, "runs", "run-00#{number}", "1.json"), JSON.generate(format: 1, allocated: 10, retained: 5, peak: nil, sampled: true, tests: {"T#a" => 3}, environment: {"ruby" => "x"}))
  now.save(File.join(folder, "runs", "run-00#{number}", "1.pb.gz"))
end
runs = HeapSample::RunFolder.new(File.join(folder, "runs"))
[read(runs), read(runs.runs.first), runs.with(runs.runs), runs.values(:retained), runs.keys(:retained, :line).each { |key| [runs.row(:retained, :line, key), runs.place(key)] }]
comparison = HeapSample::Comparison.new(runs, runs, limit: 0.02)
[read(comparison), comparison.to_h, comparison.rows(:retained, :line), comparison.culprits(:retained, :gem), comparison.text.to_markdown, comparison.text.to_junit]
comparison.totals.each { |row| read(row) }
budget = HeapSample::Budget.of(runs)
budget.save(File.join(folder, "memory.json"))
[HeapSample::Budget.load(File.join(folder, "memory.json")).over(runs).each { |over| read(over) }, budget.environment(runs)]
# The page, of a template that stands for the real one.
template = File.join(folder, "template.html")
File.write(template, "<title><!--title--></title><!--data-->")
view = HeapSample::View.new(loaded, template: template)
[view.to_s, view.write(StringIO.new), view.save(File.join(folder, "page.html")), view.inspect]
[loaded, now - earlier, series].each do |subject|
  subject.to_html(template: template)
  subject.save(File.join(folder, "page.html"), template: template)
end
now.to_html(template: template)
[now.to_pprof, now.to_profile.to_pprof]
[now, loaded].each do |profile|
  profile.save(File.join(folder, "saved.json"))
  profile.save(StringIO.new("".b), format: "pb")
end
now.filter(class: "String").rows
GC::SampleProfile.load(File.join(folder, "11.pb.gz"))
GC::SampleProfile.stop

# A heap dump, and compaction.
system(RbConfig.ruby, "--disable=gems", "-robjspace", "-e", "ObjectSpace.dump_all(output: File.open(ARGV[0], 'w'))", File.join(folder, "dump.json"), exception: true)
[true, nil].each do |references|
  dump = HeapSample::Profile.load(File.join(folder, "dump.json"), references: references)
  [HeapSample::Dump.file?(File.join(folder, "dump.json")), HeapSample::Dump.begins?("{}"), dump.info.dump?, dump.generations.by_gc?, dump.report.duplicates?]
  [dump.dump, HeapSample::Dump::Trend.new([dump, dump])].each { |one| read(one) }
  read(HeapSample::Retained.new(dump, dump, dump))
end
compaction = GC::SampleProfile.compact { work(1) }
[compaction, compaction.before].each { |one| read(one) }

# A running process.
IO.popen([RbConfig.ruby, "-e", "$stdout.puts 1; $stdout.flush; sleep"]) do |io|
  io.gets
  process = HeapSample::LiveProcess.new(io.pid)
  [process.ruby?, process.listens?, process.outline, process.pid, process.name, process.socket, process.hello, process.memory]
  [process.start(interval: "64k"), process.set(interval: "32k"), process.profile(gc: true, diagnose: "50%"), HeapSample::Compaction.of(process), process.compact, process.stop]
  HeapSample::LiveProcess.all
  HeapSample::LiveProcess.named(io.pid.to_s)
  HeapSample::SamplerProgram.ruby?("/proc/#{io.pid}")
  process.started
  [HeapSample::LiveURL.named("http://127.0.0.1:1").name, (HeapSample::LiveURL.new("http://127.0.0.1:1").profile rescue 1), (HeapSample::LiveURL.new("http://127.0.0.1:1").memory rescue 1)]
  HeapSample::LiveURL.named("x")
  token = Tempfile.create("token") { |file| file.write("host word") && file.flush && HeapSample::LiveToken.read(file.path) }
  [token.token, token.for?("host"), HeapSample::LiveToken.new("word").for?("::1")]
  HeapSample::SamplerProgram.of?("/proc/#{io.pid}")
  socket = HeapSample::LiveSocket.new(process.socket, name: "it")
  [process.bytes("hello"), socket.bytes("hello"), socket.path, socket.ask("hello"), HeapSample::LiveSocket.line("set", interval: 1)]
  ends = [process, socket].map { |one| Thread.new { one.wait_for_end } }
  sleep 0.05 until ends.all?(&:stop?)
  process.hello
  Process.kill(:TERM, io.pid)
  ends.each(&:join)
ensure
  Process.kill(:KILL, io.pid)
end
puts "exercised"
