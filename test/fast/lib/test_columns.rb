# frozen_string_literal: true

require "build"
require "sample_build"
require "malloc_build"
require "fileutils"
require "open3"
require "rbconfig"
require "stringio"
require "tmpdir"

include HeapSample

# The schema of the format that doc/format.md describes.
def documented(heading)
  rows = File.read("doc/format.md")[/^### #{heading}\n.*?(?=^###? )/m].lines.grep(/^\| (?:\d+ \| )?`/)
  rows.map { |line| line.split("|").map(&:strip).reject(&:empty?) }
end

# What a file tells of a row: figures are whole there.
def told(row)
  columns = Columns.to_h(row.columns).merge(stack: row.stack.map(&:to_s) - [":in '(no stack)'"])
  Columns::TEXTS.each { |column| columns[column.name] = row.profile.text(row.columns[column.index]) }
  Columns::SUMS.each { |column| columns[column.name] = column.place ? row.columns[column.index].round : nil }
  columns
end

test "values are at the places that doc/format.md says, in its units" do
  HeapSample::PprofWriter::TYPES.each_with_index do |(type, unit), place|
    equal([place.to_s, "`#{type}`", unit], documented("Sample types")[place].first(3))
  end
  kept = HeapSample::PprofHolders::TYPES.map { |type| "`#{type}`" }          # which are of no row
  equal(kept, documented("Sample types").drop(HeapSample::PprofWriter::TYPES.size).map(&:first))
end

test "labels are those that doc/format.md says" do
  equal(documented("Labels").map { |label, *| label.delete("`") }, Columns::LABELS.map(&:label))
end

test "a row written and read again is what it was, column by column" do
  [sample_build, malloc_build("format" => 3)].each do |build|
    file = StringIO.new("".b)
    HeapSample::PprofWriter.new(before = build.profile).write(file)
    after = Profile.load(StringIO.new(file.string), name: "again")
    rows = [before, after].map { |profile| profile.rows.map { |row| told(row) } }
    equal(*rows)
  end
end

test "a row has all columns by name, as data and for patterns" do
  row = sample_build.profile.rows[2]
  equal({class: "Ticket", type: "T_OBJECT", slot_size: 160, thread: 2, birth_gc: 99, malloc: false, library: ""},
        row.to_h.slice(:class, :type, :slot_size, :thread, :birth_gc, :malloc, :library))
  equal(row.inuse.to_h, row.to_h[:inuse])
  equal(row.stack.map(&:to_s), row.to_h[:stack])
  assert((row in {class: "Ticket", birth_gc: 90.., inuse: {samples: 7}, stack: [Frame, *]}))
  assert(!(row in {class: "Ticket", malloc: true}))
  require "json"
  equal(JSON.generate(row.to_h), JSON.generate(JSON.parse(JSON.generate(row.to_h))))
end

test "a row with a name that no column has is an error; what is not given is absent" do
  raises(ArgumentError, /a row has no colour/) { Columns.row(colour: 1) }
  equal({birth_gc: nil, malloc: false, inuse_space: 40.0, resident: 40.0, memsize: 0},
        Columns.to_h(Columns.row(inuse_space: 40.0)).slice(:birth_gc, :malloc, :inuse_space, :resident, :memsize))
end

test "rows of a Ruby with fewer columns are completed" do
  raw = sample_build.raw
  raw[:rows].each(&:pop)
  equal(sample_build.profile.rows.map(&:resident), Profile.from_raw(raw).rows.map(&:resident))
end

# Of a copy of the library.
test "one line more in the schema is a column that is read, written, grouped, filtered, merged and shown" do
  script = <<~'RUBY'
    require "sample_build"
    require "heapsample"
    require "stringio"
    include HeapSample
    raw = sample_build.raw
    raw[:texts] << "orders#index" << "orders#show"
    raw[:rows].each_with_index { |row, index| row[Columns::REQUEST] = raw[:texts].size - 1 - index % 2 }
    HeapSample::PprofWriter.new(Profile.from_raw(raw)).write(file = StringIO.new("".b))
    profile = Profile.load(StringIO.new(file.string), name: "again")
    p profile.rows.map(&:request)
    p profile.top(by: :request).map(&:key)
    p profile.filter(request: "orders#show").rows.size
    p ViewSheet.of_profile(profile, ViewFrames.new(Layout.new)).fetch(:request).uniq.size
    p profile.rows.first.to_h.fetch(:request)
    p Tool::Merge.new.add(profile).add(profile).profile.top(by: :request).map(&:key)
  RUBY
  Dir.mktmpdir do |dir|
    FileUtils.cp_r(%w[src/lib/heap_sample src/lib/heap_sample.rb heapsample/lib/heapsample heapsample/lib/heapsample.rb], dir)
    schema = "#{dir}/heap_sample/profile/columns.rb"
    line = "    column :request, :text, merge: :same, group: true, label: \"request\", place: 7, since: 4\n"
    File.write(schema, File.read(schema).sub(/^ *# All of them, as/) { line + $& })
    out, status = Open3.capture2e(RbConfig.ruby, "-w", "--disable=gems", "-I", dir, "-I", __dir__, "-e", script)
    assert(status.success?, out)
    equal(<<~OUT, out)
      ["orders#show", "orders#index", "orders#show", "orders#index", "orders#show"]
      ["orders#show", "orders#index"]
      3
      2
      "orders#show"
      ["orders#show", "orders#index"]
    OUT
  end
end
