# frozen_string_literal: true

# Heap dumps: what a profile has that was read from one.

require "objspace"
require "tempfile"
require "zlib"
require_relative "../../testing"
require_relative "dump_lines"

class DumpTest < Test
  # Of an object with an instance variable that no report may show.
  SECRET = "a password of a customer"

  def lines
    @lines ||= DumpLines.new.tap do |dump|
      list = dump.take
      dump.class_object("Order", references: [list])
      name = {value: SECRET, bytesize: SECRET.bytesize, memsize: 80, file: "/srv/order.rb", method: "name", generation: 5}
      names = [7, 7, 8].map { |line| dump.object("STRING", "String", line: line, **name) }
      orders = names.map { |name| dump.object("OBJECT", "Order", refers: [name], file: "/srv/order.rb", line: 3, method: "new", generation: 4) }
      dump.object("ARRAY", "Array", address: list, refers: orders, length: 3, memsize: 104, file: "/srv/order.rb", line: 1)
      dump.object("IMEMO", nil, imemo_type: "cref")
      dump.object("DATA", nil, struct: "VM/thread")
      dump.root("vm", dump.classes)
      dump.root("machine_context", [list])
    end
  end

  def read(text, **options) = HeapSample::Profile.load(StringIO.new(text), name: "dump.json", **options)

  test "objects are rows by class, line and generation, which are exact" do
    profile = lines.profile
    top = profile.top(by: :class)
    assert_equal({"Class" => 8, "Module" => 5, "String" => 3, "Order" => 3, "Array" => 1, "(imemo:cref)" => 1, "(hidden T_DATA VM/thread)" => 1},
                 top.map { |row| [row.key, row.estimate.objects] }.to_h)
    strings = top.find { |row| row.key == "String" }
    assert_equal([240, true, [240.0, 240.0]], [strings.value, strings.estimate.exact?, strings.interval])
    assert_equal({"/srv/order.rb:7 name" => 160, "/srv/order.rb:8 name" => 80, "/srv/order.rb:3 new" => 120, "/srv/order.rb:1 (top level)" => 104},
                 profile.top(by: :line).reject { |row| row.key.path.empty? }.map { |row| [row.key.text, row.value] }.to_h)
    assert_equal([7, 22], [profile.dump.traced, profile.dump.count])
  end

  test "objects whose classes have one name are one row, as classes with singleton classes" do
    dump = DumpLines.new
    single = Array.new(3) { |index| dump.class_object("single #{index}", real_class_name: "Order", singleton: true) }
    single.each_with_index { |_, index| dump.object("OBJECT", "single #{index}", memsize: 50) }
    dump.root("vm", dump.classes)
    profile = dump.profile
    assert_equal([150, 3, 1], [profile.top(by: :class).find { |row| row.key == "Order" }.value, profile.top(by: :class).find { |row| row.key == "Order" }.estimate.objects,
                               profile.rows.count { |row| row.class_name == "Order" }])
    assert_equal(0, (dump.profile - profile).groups(:class).sum { |group| group.space.abs })
  end

  test "generations are listed one by one, the untraced apart" do
    generations = lines.profile.generations
    assert_equal([[5, 240], [4, 120]], generations.to_h[:generations].map { |one| [one[:generation], one[:bytes]] })
    assert_includes(generations.to_s, "Objects by generation, the GC count at their allocation (the last is 5)")
    refute_includes(generations.to_s, "95%")
  end

  test "duplicate strings are counted, and their text is nowhere" do
    profile = lines.profile(references: true)
    duplicate = profile.dump.duplicates.first
    assert_equal([3, 240, 160, SECRET.bytesize, "/srv/order.rb"],
[*duplicate.to_h.values_at(:strings, :bytes, :wasted_bytes, :text_bytes), HeapSample::Keys.new(profile, :line).of(duplicate.row).path])
    assert_includes(profile.report.to_s, "Duplicate strings: 2 strings have the contents of another; one of each would save 160 B")
    everything = [profile.report.to_s, profile.report.to_h.to_s, profile.why.to_s, Zlib.gunzip(HeapSample::View.new(profile).send(:data)), profile.to_pprof, Marshal.dump(profile.texts),
profile.dump.inspect]
    everything.each { |text| refute_includes(text.b, SECRET.b) }
    reachable_from(profile).each { |object| refute_includes(object.b, SECRET.b, "the contents stay in memory") if object.is_a?(String) }
  end

  # But for classes and code.
  def reachable_from(object)
    seen = {}.compare_by_identity
    waiting = [object]
    while (one = waiting.pop)
      next if seen[one] || one.is_a?(Module) || one.is_a?(ObjectSpace::InternalObjectWrapper) && !%i[T_ARRAY T_HASH T_IMEMO].include?(one.type) || one.is_a?(Proc)

      seen[one] = true
      waiting.concat(ObjectSpace.reachable_objects_from(one) || [])
    end
    seen.keys
  end

  test "why names what retains what, and what would be freed" do
    why = lines.profile(references: true).filter(class: "Order").why
    assert_includes(why.to_s, "(VM)\n120 B  100.0%  └ constant or variable of class Order (Array) /srv/order.rb:1 → 3 Order")
    freed = lines.profile(references: true).why.freed.first
    assert_equal(["constant or variable of class Order (Array)", 360.0, 6], [freed.names.last, freed.estimate.space, freed.estimate.objects])
    assert_includes(lines.profile.why.reason, "no heap walk")
  end

  test "a dump is opened by its content: from a file, compressed, from a stream, with the lines of other programs" do
    text = lines.text
    expected = read(text).top.map(&:to_h)
    assert_equal(expected, read(Zlib.gzip(text)).top.map(&:to_h))
    Tempfile.create(%w[heap .json]) do |file|
      file.write(text)
      file.flush
      assert_equal(expected, HeapSample::Profile.load(file.path).top.map(&:to_h))
    end
    noisy = read("I, [2026] Started GET\n#{lines.lines.join("{\"level\":\"info\"}\n")}")
    assert_equal(expected, noisy.top.map(&:to_h))
    assert_equal(["24 lines are no lines of a heap dump, and were left out"], noisy.dump.left_out)
  end

  test "a dump that is cut off is read up to there, and says so" do
    text = lines.text
    cut = read(text[0...-60])
    assert_equal([21, ["the file ends early; what comes before its end was read"]], [cut.dump.count, cut.dump.left_out])
    packed = Zlib.gzip(text * 1)
    assert_equal(["the file ends early; what comes before its end was read"], read(packed[0...-20]).dump.left_out)
    assert_equal(["another dump follows in this file, and was left out"], read(text * 2).dump.left_out)
    assert_equal(22, read(text * 2).dump.count)
    assert_raises(HeapSample::FormatError) { read("{\"type\":\"ROOT\", \"root\":\"vm\", \"references\":[\"0x1\"]}\n") }
  end

  test "a line has a limit" do
    long = "x" * 5000
    found = []
    read = HeapSample::Dump::Lines.new(HeapSample::Dump::Peek.new(StringIO.new("a\n#{long * 200}\nb\n")), longest: 300_000)
    read.each { |line| found << line.chomp }
    assert_equal([%w[a b], 1], [found, read.long])
  end

  test "lines of any sizes are the same whatever the pieces in which they are read" do
    random = Random.new(7)
    text = Array.new(3000) { "#{"y" * random.rand(900)}\n" }.join
    found = []
    HeapSample::Dump::Lines.new(HeapSample::Dump::Peek.new(StringIO.new(text))).each { |line| found << line }
    assert_equal(text.lines, found)
  end

  test "what makes no sense in a line is not trusted" do
    odd = [%({"address":"0x10", "type":"STRING", "class":7, "file":3, "line":"x", "generation":"y", "memsize":"z", "references":["q", 3]}),
     %({"address":"0x18", "type":"ARRAY", "class":"0x18", "references":["0x18"], "length":-1, "memsize":-5, "slot_size":-9, "generation":-7}),
     %({"address":"0x20", "type":"CLASS", "class":"0x20", "superclass":"0x20", "singleton":true, "memsize":99999999999999999999999}),
     %({"address":4, "type":"OBJECT"}), %({"type":"OBJECT"}), "[1]", "{}", "null", %({"address":"0x28", "type":9}), %({"address":"0x30", "type":"OBJECT", "line":0.5, "file":"a\\u0000b"})]
    profile = read("#{lines.text}#{odd.join("\n")}\n", references: true)
    assert_equal(26, profile.dump.count)
    assert(profile.report.to_s && profile.why.to_s && HeapSample::View.new(profile).send(:data))
  end

  test "a dump of Ruby 2.7, which has fewer fields, is read" do
    old = lines.text.gsub(/, "slot_size":\d+/, "").gsub(/, "flags":\{[^}]*\}/, "")
    assert_equal(lines.profile.top(by: :class).map { |row| [row.key, row.value] }, read(old).top(by: :class).map { |row| [row.key, row.value] })
  end

  test "in a dump of Ruby 2.7 the entry of a method has a class, and singleton classes the name of their class" do
    ours = lines
    ours.object("IMEMO", "Order", memsize: 48, imemo_type: "ment")
    ours.object("CLASS", "Class", name: "Object")
    assert_equal(48.0, ours.profile.top(by: :class, top: 100).find { |row| row.key == "(imemo:ment)" }&.value)
    refute_includes(HeapSample::Retained.new(*Array.new(3) { ours.profile }).to_s, "several processes")
  end

  # Writes a dump of itself.
  PROGRAM = <<~RUBY
    require "objspace"
    ObjectSpace.trace_object_allocations_start
    kept = Array.new(100) { [Object.new] }
    ObjectSpace.dump_all(output: $stdout)
  RUBY

  test "a dump that this Ruby writes has the objects, their lines and what retains them" do
    text, status = Open3.capture2(RbConfig.ruby, "--disable=gems", "-e", PROGRAM)
    assert(status.success?)
    profile = read(text, references: true)
    found = profile.groups(:line).select { |group| group.key.path == "-e" && group.key.line == 3 }
    assert_operator(found.sum { |group| group.inuse.objects }, :>=, 200)
    assert_equal([], profile.dump.left_out)
    assert_equal(text.lines.count { |one| one.start_with?('{"address"') && !one.match?(/"type":"(?:SHAPE|ZOMBIE)"/) }, profile.dump.count)
    refute(profile.why.empty?)
  end
end

# The graph of references.
class DumpGraphTest < Test
  # A graph by the successors of each object from 1 on.
  def graph(successors, roots)
    graph = HeapSample::Dump::Graph.new
    address = ->(number) { 0x10000 + (number * 40) }
    graph.root("vm", roots.map { |number| "0x#{address[number].to_s(16)}" })
    objects = HeapSample::Dump::Objects.new
    successors.each.with_index(1) do |some, number|
      objects.add(address[number], 0, number)
      graph.object({}, some.map { |one| "0x#{address[one].to_s(16)}" })
    end
    graph.resolve(objects.finish, [nil])
  end

  def reached(successors, roots, without = nil)
    seen, waiting = {}, roots - [without]
    while (one = waiting.pop)
      next if seen[one]

      seen[one] = true
      waiting.concat(successors[one - 1] - [without])
    end
    seen.keys
  end

  test "retained sizes agree with a walk without the object, in 300 random graphs" do
    random = Random.new(11)
    300.times do
      size = random.rand(1..25)
      successors = Array.new(size) { Array.new(random.rand(4)) { random.rand(1..size) } }
      roots = Array.new(random.rand(1..3)) { random.rand(1..size) }.uniq
      sizes = HeapSample::Dump::RetainedSizes.new(graph(successors, roots)).largest(0).to_h { |size| [size.number, [size.bytes, size.objects]] }
      all = reached(successors, roots)
      (1..size).each do |number|
        gone = all.include?(number) ? all - reached(successors, roots, number) : []
        assert_equal([gone.sum, gone.size], sizes.fetch(number, [0, 0]), [successors, roots, number].inspect)
      end
    end
  end

  test "a list of 100,000 objects is one step, and needs no deep stack" do
    dump = DumpLines.new
    last = nil
    100_000.times { last = dump.object("OBJECT", "Node", refers: [*last]) }
    dump.class_object("Holder", references: [last])
    dump.root("vm", dump.classes)
    profile = dump.profile(references: true)
    text = profile.filter(class: "Node").why(full: true).to_s
    assert_match(/constant or variable of class Holder \(Node at 0x\h+\)\n.*variable of Node ×99,999 → 99,999 Node/, text)
    assert_in_delta(100_000 * 40, profile.why.freed.first.estimate.space, 40)
  end

  test "addresses are found in pages of any slot sizes, and in none" do
    random = Random.new(3)
    addresses = (0...50).flat_map do |page|
      size = [40, 80, 160].sample(random: random)
      (0...(16_000 / size)).to_a.sample(30, random: random).sort.map { |slot| 0x7f00_0000_0000 + (page << 16) + 24 + (slot * size) }
    end
    addresses += [0x10, 0x7f00_0000_0001]
    index = HeapSample::Dump::PageIndex.new(addresses.map { |address| [address, nil] })
    addresses.each.with_index(1) { |address, number| assert_equal(number, index[address]) }
    [0, 8, addresses[3] + 1, 1 << 60].each { |address| assert_equal(0, index[address]) }
  end
end

# Two and three dumps of a process.
class DumpsTest < Test
  # A dump in which class Box retains objects, which are given by address: +fields+ of each.
  def dump(objects, moved: false)
    dump = DumpLines.new
    dump.take if moved
    boxes = %w[Box Order Item Cart].map { |name| dump.class_object(name) }
    objects.each { |address, (class_name, fields)| dump.object("OBJECT", class_name, address: 0x7f00_1000_0000 + (address * 40), memsize: 40 + address, **(fields || {})) }
    dump.root("vm", dump.classes + boxes)
    dump.profile
  end

  def retained(*dumps, by: :class) = HeapSample::Retained.new(*dumps, by: by)
  def values(retained) = retained.map { |row| [row.key.to_s, row.stayed.objects, row.stayed.space, row.came.objects] }

  test "growth is the exact difference of totals, wherever the objects lie" do
    growth = dump({5 => "Order", 6 => "Order", 9 => "Item"}, moved: true) - dump({1 => "Order", 9 => "Item", 3 => "Cart"})
    report = growth.report(by: :class)
    assert_equal({"Order" => [1, 50], "Cart" => [-1, -43]}, %i[grown shrunk].flat_map { |change| report.tables[change] }.map { |group| [group.key, [group.objects, group.space]] }.to_h)
    assert_includes(report.to_s, "The totals of two heap dumps are compared")
    refute_match(/95%|sampling/, report.to_s)
  end

  test "what retains growth is asked of growth alone" do
    holder = ->(count, from) do
      dump = DumpLines.new
      refers = Array.new(count) { |index| dump.object("OBJECT", "Order", address: from + (index * 40)) }
      dump.class_object("Shop", references: [dump.object("ARRAY", "Array", refers: refers)])
      dump.root("vm", dump.classes)
      dump.profile(references: true)
    end
    before, after = holder[100, 0x7f00_3000_0000], holder[150, 0x7f00_4000_0000]
    assert_in_delta(50, after.filter(class: "Order").why(since: before.filter(class: "Order")).total.objects, 1)
    assert_equal(50, (after - before).groups(:class).find { |group| group.key == "Order" }.objects)
  end

  test "with three dumps, objects that the second has and the first has not, and that are in the third" do
    first = dump({1 => "Order", 2 => "Item"})
    second = dump({1 => "Order", 2 => "Order", 3 => "Order", 4 => "Item", 5 => "Cart"})
    third = dump({1 => "Order", 2 => "Order", 4 => "Cart", 5 => "Cart", 6 => "Order"})
    result = retained(first, second, third)
    # 2 was an Item before: the slot was used again.  4 is another object in the third.  6 is new there.
    assert_equal([["Cart", 1, 45, 1], ["Order", 1, 42, 2]], values(result))
    assert_includes(result.to_s.tr("\n", " "), "A slot that was used again by an object of the same class counts as the old object.")
  end

  test "lines and generations distinguish objects of one class that used a slot one after the other" do
    at = ->(line, generation) { {file: "/srv/a.rb", line: line, generation: generation} }
    first = dump({1 => ["Order", at[3, 1]], 2 => ["Order", at[3, 1]]})
    second = dump({1 => ["Order", at[3, 1]], 2 => ["Order", at[3, 7]], 3 => ["Order", at[3, 7]]})
    third = dump({1 => ["Order", at[3, 1]], 2 => ["Order", at[3, 7]], 3 => ["Order", at[3, 9]]})
    assert_equal([["Order", 1, 42, 2]], values(retained(first, second, third)))
  end

  test "objects that GC.compact has moved are recognised by generation, or totals are compared, and it is said" do
    at = ->(generation) { {file: "/srv/a.rb", line: 3, generation: generation} }
    dumps = [dump({1 => ["Order", at[1]]}), dump({1 => ["Order", at[1]], 2 => ["Order", at[4]], 5 => ["Item", at[5]]}),
dump({7 => ["Order", at[4]], 8 => ["Order", at[1]], 3 => ["Item", at[6]]}, moved: true)]
    result = retained(*dumps)
    assert_includes(result.to_s.tr("\n", " "), "GC.compact has moved objects between the dumps, so generations identify them.")
    assert_equal([["Order", 1, 47, 1]], values(result).select { |row| row[0] == "Order" })
    plain = [dump({1 => "Order"}), dump({1 => "Order", 2 => "Order"}), dump({7 => "Order", 8 => "Order"}, moved: true)]
    assert_includes(retained(*plain).to_s.tr("\n", " "), "GC.compact has moved objects between the dumps, so addresses do not identify them: totals are compared.")
  end

  test "a dump that is given three times retains nothing" do
    same = dump({1 => "Order"})
    assert_equal([], values(retained(same, same, same)))
  end

  test "without tracing at one time, the class decides" do
    at = {file: "/srv/a.rb", line: 3, generation: 2}
    dumps = [dump({1 => ["Order", at]}), dump({1 => ["Order", at], 2 => ["Order", at]}), dump({1 => "Order", 2 => "Order"})]
    assert_equal([["Order", 1, 42, 1]], values(retained(*dumps)))
  end
end

# The diagnosis of a series of dumps.
class DumpTrendTest < Test
  # An Array of so many Orders, which class Shop retains, and Items that come and go.
  def dump(orders, items)
    dump = DumpLines.new
    shop = dump.class_object("Shop")
    list = dump.take
    from = 0x7f00_2000_0000
    refers = Array.new(orders) { |index| dump.object("OBJECT", "Order", address: from + (index * 40), memsize: 1000, file: "/srv/order.rb", line: 3, method: "new", generation: index) }
    items.each { |index| dump.object("OBJECT", "Item", address: from + 400_000 + (index * 40), file: "/srv/item.rb", line: 9, generation: index) }
    dump.object("ARRAY", "Array", address: list, refers: refers, length: orders, file: "/srv/shop.rb", line: 2, generation: 0)
    dump.class_object("Top", references: [shop])
    dump.root("vm", [*dump.classes, list])
    dump.profile(references: true)
  end

  test "what grew from each dump to the next is listed, with what is still there" do
    trend = HeapSample::Dump::Trend.new([dump(10, 0...5), dump(20, 3...9), dump(35, 9...12)])
    row = trend.first
    assert_equal([["/srv/order.rb"], [10_000, 20_000, 35_000], [10, 20, 35], 10_000, true], [trend.map { |one| one.key.path }, row.bytes, row.objects, row.still, trend.grows?])
    assert_match(/\ACannot tell: 3 heap dumps/, trend.to_s)
    assert_includes(trend.to_s, "Look first at /srv/order.rb:3 `new`: +24.4 KiB")
    assert_equal(:unknown, trend.to_h[:state])
    refute(HeapSample::Dump::Trend.new([dump(10, 0...5), dump(10, 0...5)]).grows?)
  end

  # The list is nearer to the root through the stack.
  test "what a stack refers to for a moment is retained by the constant that leads there, too" do
    dump = DumpLines.new
    list = dump.take
    orders = Array.new(5) { dump.object("OBJECT", "Order") }
    thread = dump.object("DATA", "Thread", refers: [list, dump.object("STRING", "String", memsize: 80)])
    dump.object("ARRAY", "Array", address: list, refers: orders)
    dump.class_object("Shop", references: [dump.object("OBJECT", "Cart", refers: [list])])
    dump.root("vm", [thread, *dump.classes])
    ways = dump.profile(references: true).holders.then { |holders| holders.to_h { |held| [held.class_name, holders.path(held.node).map(&:name)] } }
    assert_equal("variable of Cart", ways["Order"][-2])
    assert_equal(["(VM)", "stack of Thread"], ways["String"])
  end

  test "what no root leads to is garbage, and does not count as growth" do
    trend = HeapSample::Dump::Trend.new([dump(10, 0...5), dump(20, 0...50)])
    assert_equal([["/srv/order.rb"], 45 * 40], [trend.map { |row| row.key.path }, trend.garbage])
    assert_includes(trend.to_s.tr("\n", " "), "Garbage, to which no reference was found, grew by 1.8 KiB.")
  end

  test "a page shows several dumps" do
    data = HeapSample::View.new([dump(10, 0...5), dump(20, 3...9), dump(35, 9...12)]).send(:data)
    assert_includes(Zlib.gunzip(data), "order.rb")
  end
end
