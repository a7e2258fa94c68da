# frozen_string_literal: true

# The fields of a message of doc/heap_sampler.proto: [name, type, number, repeated or not].

require "fileutils"
require "open3"
require "rbconfig"
require "stringio"
require "tmpdir"
require_relative "../../testing"
require_relative "builds"

class ColumnsTest < Test
  include Builds
  include HeapSample

  def documented(message)
    body = File.read("doc/heap_sampler.proto")[/^message #{message} \{\n(.*?)^\}/m, 1]
    body.scan(/^  (repeated |optional )?(\w+) (\w+) = (\d+);/).map { |how, type, name, number| [name, type, number.to_i, how == "repeated "] }
  end

  # A row as in a file: figures are whole there.
  def told(row)
    columns = Columns.to_h(row.columns).merge(stack: row.stack.map(&:to_s) - [":in '(no stack)'"])
    Columns::TEXTS.each { |column| columns[column.name] = row.profile.text(row.columns[column.index]) }
    Columns::SUMS.each { |column| columns[column.name] = column.field ? row.columns[column.index].round : nil }
    columns
  end

  test "fields of a row are those of the page" do
    names = {"allocation_gc" => "allocation_gc"}
    fields = documented("Row").reject { |name, *| name == "part" }
    assert_equal(fields.map { |name, _, number, _| [names.fetch(name, name), number] }, Columns::FIELDS_OF_ROW.map { |column| [column.name.name, column.field] })
    assert_equal(["part", "Part", PprofReader::PART, true], documented("Row").last)
    assert_equal([["row", "Row", PprofReader::ROW, true]], documented("Sample"))
    assert_equal([["meta", "Meta", PprofReader::Field::META, false], ["reference", "Reference", PprofReader::Field::REFERENCE, true]], documented("Profile"))
    assert_equal([1, 2, 3, 4, 5], documented("Part").map { |_, _, number, _| number })
    assert_equal(%w[parent name kind path line objects repeats entries bound].zip(1..9), documented("Reference").map { |name, _, number, _| [name, number] })
  end

  TYPES = {number: "uint64", text: "string", flag: "bool"}.freeze

  test "what a profile says about itself has the fields of the page" do
    titles = MetaMessage::MESSAGES.keys.to_h { |name| [name, name == :gc ? "GC" : name.name.split("_").map(&:capitalize).join] }
    MetaMessage::MESSAGES.each do |message, fields|
      expected = fields.map do |name, type|
        repeated = type.is_a?(Array) || %i[texts numbers triples].include?(type)
        [name.name, {texts: "string", numbers: "uint64", triples: "uint64"}[type] || TYPES[type] || titles.fetch([*type].first), MetaMessage::NUMBERS.fetch(name), repeated]
      end
      assert_equal(expected, documented(titles.fetch(message)))
    end
    assert_equal(MetaMessage::NUMBERS.keys.sort, MetaMessage::MESSAGES.values.flat_map(&:keys).uniq.sort)
  end

  test "C has the same names and numbers" do
    fields = File.read("src/heap_sampler/memory/account.h")[/^#define HS_META_FIELDS.*?(?=\n\n)/m].scan(/FIELD\((\w+), (\d+)\)/)
    assert_equal(MetaMessage::NUMBERS.map { |name, number| [name.name, number.to_s] }, fields)
  end

  # Keys of a row first, then its figures.
  test "C has the same figures, in the same order, at the same fields" do
    declared = File.read("src/heap_sampler/profile/profile.h")[/^#define HS_ROW_FIGURES.*?(?=^\/\*)/m].scan(/^ +(ESTIMATE|SHARE|SUM)\((\w+), (\d+)/)
    names = {"ESTIMATE" => Columns::FIELDS.map { |name| "_#{name}" }, "SHARE" => ["", "_variance"], "SUM" => [""]}
    figures = declared.flat_map { |kind, name, field| names.fetch(kind).each_with_index.map { |end_of_name, place| ["#{name}#{end_of_name}", field.to_i + place] } }
    keys = File.read("src/heap_sampler/ruby/raw.c")[/^#define ROW_COLUMNS.*?(?=HS_ROW_FIGURES)/m].scan(/COLUMN\((\w+),/).flatten
    assert_equal(Columns::ALL.map { |column| column.name.name }, keys + figures.map(&:first))
    assert_equal(Columns::SUMS.map(&:field), figures.map(&:last))
  end

  test "what a profile says about itself is the same written and read again" do
    meta = held_build.raw[:meta].merge("memsize" => true, "deploy" => "ü\u0000", "parent_id" => (1 << 64) - 1, "gc" => {"count" => 0, "times" => [[1, 2, 3], [4, 5, 6]], "majors" => [5, 1 << 50]},
                                        "merged" => {"processes" => 3}, "colour" => "red", "host" => 5)
    read = MetaMessage.decode(MetaMessage.encode(meta))
    assert_equal(meta["kept"]["objects"], read["kept"]["objects"])
    assert_equal(meta.slice("memsize", "deploy", "parent_id", "settings", "heaps"), read.slice("memsize", "deploy", "parent_id").merge(read.slice("settings", "heaps").to_h { |name, value|
      [name, name == "heaps" ? value.map { |heap| heap.slice(*meta["heaps"].first.keys) } : value.slice(*meta["settings"].keys)]
    }))
    assert_equal([{"processes" => 3, "profiles" => nil, "evicted_rows" => nil}, nil, nil], [read["merged"], read["host"], read["colour"]])
    assert_equal([[[1, 2, 3], [4, 5, 6]], [5, 1 << 50]], read["gc"].values_at("times", "majors"))
    refute(MetaMessage.decode("").key?("kept"))
  end

  test "a row written and read again is what it was, column by column" do
    [sample_build, malloc_build].each do |build|
      file = StringIO.new("".b)
      HeapSample::PprofWriter.new(before = build.profile).write(file)
      after = Profile.load(StringIO.new(file.string), name: "again")
      before.rows.sort_by(&:inspect).zip(after.rows.sort_by(&:inspect)) do |row, read|
        variances = Columns::VARIANCES.map(&:first)
        row.columns.values_at(*variances).zip(read.columns.values_at(*variances)) { |one, other| assert_close(one, other, 1e-3) }
        assert_equal(*[row, read].map { |one| told(one).reject { |name, _| name.end_with?("variance") } })
      end
    end
  end

  test "a row has all columns by name, as data and for patterns" do
    row = sample_build.profile.rows[2]
    assert_equal({class: "Ticket", type: "T_OBJECT", slot_size: 160, thread: 2, allocation_gc: 99, malloc: false, library: ""},
                 row.to_h.slice(:class, :type, :slot_size, :thread, :allocation_gc, :malloc, :library))
    assert_equal(row.inuse.to_h, row.to_h[:inuse])
    assert_equal(row.stack.map(&:to_s), row.to_h[:stack])
    assert((row in {class: "Ticket", allocation_gc: 90.., inuse: {samples: 7}, stack: [Frame, *]}))
    refute((row in {class: "Ticket", malloc: true}))
    require "json"
    assert_equal(JSON.generate(row.to_h), JSON.generate(JSON.parse(JSON.generate(row.to_h))))
  end

  test "a row with a name that no column has is an error; what is not given is absent" do
    assert_error(ArgumentError, /a row has no colour/) { Columns.row(colour: 1) }
    assert_equal({allocation_gc: nil, malloc: false, inuse_space: 40.0, resident: 40.0, memsize: 0},
                 Columns.to_h(Columns.row(inuse_space: 40.0)).slice(:allocation_gc, :malloc, :inuse_space, :resident, :memsize))
  end

  test "rows of a Ruby with fewer columns are completed" do
    raw = sample_build.raw
    raw[:rows].each(&:pop)
    assert_equal(sample_build.profile.rows.map { |row| row[:resident] }, Profile.from_raw(raw).rows.map { |row| row[:resident] })
  end

  # Of a copy of the library.
  test "one line more in the schema is a column that is read, written, grouped, filtered, merged and shown" do
    script = <<~'RUBY'
      require "builds"
      require "heapsample/tool"
      require "stringio"
      include HeapSample
      raw = Builds.sample_build.raw
      raw[:texts] << "orders#index" << "orders#show"
      raw[:rows].each_with_index { |row, index| row[Columns::REQUEST] = raw[:texts].size - 1 - index % 2 }
      HeapSample::PprofWriter.new(Profile.from_raw(raw)).write(file = StringIO.new("".b))
      profile = Profile.load(StringIO.new(file.string), name: "again")
      p profile.rows.map { |row| row[:request] }
      p profile.top(by: :request).map(&:key)
      p profile.filter(request: "orders#show").rows.size
      p ViewSheet.of_profile(profile, ViewFrames.new(Layout.new)).fetch(:request).uniq.size
      p profile.rows.first.to_h.fetch(:request)
      p Tool::Merge.new.add(profile).add(profile).profile.top(by: :request).map(&:key)
    RUBY
    Dir.mktmpdir do |dir|
      FileUtils.cp_r(%w[src/lib/heapsample src/lib/heapsample.rb], dir)
      schema = "#{dir}/heapsample/profile/columns.rb"
      line = "    column :request, :text, merge: :same, group: true, field: 31\n"
      File.write(schema, File.read(schema).sub(/^ *# All of them, as/) { line + $& })
      out, status = Open3.capture2e(RbConfig.ruby, "-w", "--disable=gems", "-I", dir, "-I", __dir__, "-e", script)
      assert(status.success?, out)
      assert_equal(<<~OUT, out)
        ["orders#show", "orders#index", "orders#show", "orders#index", "orders#show"]
        ["orders#show", "orders#index"]
        3
        2
        "orders#show"
        ["orders#show", "orders#index"]
      OUT
    end
  end
end
