# frozen_string_literal: true

require_relative "../../testing"
require_relative "builds"

class ModelTest < Test
  include Builds
  include HeapSample

  test "a row has what the sampler handed over" do
    row = sample_build.profile.rows[2]
    assert_equal(["Ticket", "T_OBJECT", 160, 2, 99], [row.class_name, row.type, row.slot_size, row.thread, row.allocation_gc])
    assert_equal([7, 3, 10, 0], [row.inuse, row.young, row.alloc, row.freed].map(&:samples))
    assert_close(7 * 512 * 1024, row.inuse.space, 1e-3)
    assert_equal(["Model::Base.new", "<main>"], row.stack.map(&:label))
  end

  test "rows of one stack share its frames" do
    build = Build.new
    build.row(["a.rb:1 A#a"], "String", inuse: 1, at_gc: 1).row(["a.rb:1 A#a"], "Array", inuse: 1, at_gc: 1)
    first, second = build.profile.rows
    assert(first.stack.equal?(second.stack))
  end

  test "text columns may be Strings" do
    raw = sample_build.raw
    raw[:rows].each { |row| Columns::TEXTS.each { |column| row[column.index] = raw[:texts][row[column.index]] } }
    assert_equal(sample_build.profile.report.to_s, Profile.from_raw(raw).report.to_s)
  end

  test "texts of any bytes are readable" do
    raw = sample_build.raw
    raw[:texts].map! { |text| text == "Ticket" ? "Tick\xff\xfe".b : text.b }
    assert(Profile.from_raw(raw).report.to_s.include?("Tick\\xFF\\xFE"))
  end

  test "a frame reads like a Thread::Backtrace::Location" do
    frame = sample_build.profile.rows[0].stack[1]
    assert_equal(["block in Foo#bar", "bar", "/srv/app/models/x.rb", nil, 12],
                 [frame.label, frame.base_label, frame.path, frame.absolute_path, frame.lineno])
    assert_equal("/srv/app/models/x.rb:12:in 'block in Foo#bar'", frame.to_s)
    assert_equal(frame.to_s.inspect, frame.inspect)
  end

  test "base labels of all kinds of frames" do
    labels = {"Foo.bar" => "bar", "block (2 levels) in A::B#c?" => "c?", "rescue in block in A#b" => "b",
              "<main>" => "<main>", "<class:A>" => "<class:A>", "<top (required)>" => "<top (required)>",
              "bar" => "bar", "A#[]=" => "[]=", "(GC)" => "(GC)"}
    labels.each { |label, base| assert_equal(base, Frame.new(label, "a.rb", nil, 1).base_label) }
  end

  def lines(*stacks)
    build = Build.new
    stacks.each { |stack| build.row(stack, "String", inuse: 20, at_gc: 1) }
    build.profile.groups(:line).map { |group| Layout.new.place(group.key) }
  end

  test "a C method is put down to its caller's line and method" do
    assert_equal(["a.rb:3 A#a"], lines(["a.rb:3 String#*", "a.rb:3 A#a", "a.rb:9 <main>"]))
    assert_equal(["a.rb:3 A#a"], lines(["a.rb:3 Array#initialize", "a.rb:3 Class#new", "a.rb:3 A#a", "a.rb:9 <main>"]))
  end

  test "a block counts as its method" do
    assert_equal(["a.rb:3 A#a"], lines(["a.rb:3 Class#new", "a.rb:3 block in A#a", "a.rb:2 Array#each", "a.rb:2 A#a"]))
  end

  test "Ruby code inside MRI is put down to its caller" do
    assert_equal(["a.rb:3 A#a"], lines(["<internal:pack>:8 Array#pack", "a.rb:3 A#a"]))
    assert_equal(["<internal:gc>:1 GC.x"], lines(["<internal:gc>:1 GC.x"]))
  end

  test "a method that calls itself in its line is one line" do
    assert_equal(["a.rb:3 A#a"], lines(*[1, 2, 5].map { |depth| ["a.rb:3 A#a"] * depth + ["a.rb:9 <main>"] }))
  end

  test "the absolute path is what code is grouped by" do
    assert_equal(["/x/a.rb:3 A#a"], lines(["a.rb:3 A#a @/x/a.rb"]))
  end

  test "rows group by class, type, method and file" do
    profile = sample_build.profile
    names = %i[class type method file].to_h do |by|
      [by, profile.groups(by).largest(:inuse, 2).map { |group| Layout.new(root: "/srv/app").place(group.key) }]
    end
    assert_equal({class: %w[String Ticket], type: %w[T_STRING T_OBJECT],
                  method: ["models/x.rb Foo#bar", "model-7.1.2/lib/base.rb Model::Base.new"],
                  file: ["models/x.rb", "model-7.1.2/lib/base.rb"]}, names)
  end

  test "a grouping that does not exist is an ArgumentError that says which do" do
    assert_error(ArgumentError, /:banana.*:line, :app, :method, :file, :class, :type/) { sample_build.profile.report(by: :banana).to_s }
  end

  test "by app: the nearest line of the application, be it of a C method; without one the line itself" do
    build = Build.new
    ar = "/g/gems/activerecord-8.1.4/lib/relation.rb"
    build.row(["#{ar}:9 AR#load", "#{ar}:3 AR#find", "/srv/app/page.rb:7 Array#each", "/srv/app/page.rb:7 Page#find", "/srv/app/x.rb:1 <main>"],
              "Book", inuse: 5, at_gc: 3)
    build.row(["/srv/app/page.rb:8 Page#own", "/srv/app/x.rb:1 <main>"], "String", inuse: 3, at_gc: 3)
    build.row(["#{ar}:9 AR#load", "#{ar}:1 <top>"], "String", inuse: 2, at_gc: 3)
    build.malloc(["!/usr/lib/libfoo.so foo_new", "#{ar}:9 AR#load", "/srv/app/page.rb:7 Page#find"], "libfoo.so", 2000, inuse: 4)
    assert_equal({"/srv/app/page.rb:7 Page#find" => 9, "/srv/app/page.rb:8 Page#own" => 3, "#{ar}:9 AR#load" => 2},
                 build.profile.groups(:app).to_h { |group| ["#{group.key.path}:#{group.key.line} #{group.key.label}", group.inuse.samples] })
  end

  test "every grouping adds up to the same total" do
    profile = sample_build.profile
    totals = Groups::BY.map { |by| profile.groups(by).total }
    totals.each do |total|
      assert_equal(108, total.inuse.samples)
      assert_close(totals[0].inuse.space, total.inuse.space)
      assert_close(totals[0].alloc.variance, total.alloc.variance)
    end
  end

  test "age is the mean over objects in GCs, lifetime over the freed" do
    build = Build.new
    build.row(["a.rb:1 A#a"], "String", inuse: 3, at_gc: 90, freed: 2, alloc: 6, lived: 4)
    build.row(["a.rb:1 A#a"], "String", inuse: 1, at_gc: 50)
    group = build.profile.groups(:line).first
    assert_close((3 * 10 + 50) / 4.0, group.age(100))
    assert_close(4, group.lifetime)
    assert_close(2 / 7.0, group.freed_share)
  end

  test "meta data that is missing or nonsense is nil" do
    info = Meta.new({"gc" => 5, "settings" => {"interval" => "x"}, "heaps" => [3], "drops" => [1], "taken_ns" => -1})
    assert_equal([nil, nil, nil, nil, {}, nil], [info.gc_count, info.interval, info.live_bytes, info.process_start, info.drops, info.taken])
  end
end
