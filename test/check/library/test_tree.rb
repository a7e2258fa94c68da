# frozen_string_literal: true

require "tempfile"
require "json"
require "pp"
require_relative "../../testing"
require_relative "builds"
require_relative "pprof_encoder"

class TreeTest < Test
  include Builds
  include HeapSample

  AR = "/usr/lib/ruby/gems/3.4.0/gems/activerecord-7.1.2/lib/relation.rb"
  FIND = "/usr/lib/ruby/gems/3.4.0/gems/activerecord-7.1.2/lib/finder.rb:9 Relation#find"
  RACK = (1..5).map { |n| "/usr/lib/ruby/gems/3.4.0/gems/rack-3.1.7/lib/rack#{n}.rb:#{n} Rack#call#{n}" } + ["/srv/app/main.rb:3 <main>"]

  def web_build
    Build.new
         .row(["#{AR}:5 Array#map", "#{AR}:5 block in Relation#load", "/srv/app/shows.rb:7 Shows#show", *RACK], "String", inuse: 50, at_gc: 1)
         .row([FIND, "#{AR}:5 Relation#load", "/srv/app/shows.rb:7 Shows#show", *RACK], "String", inuse: 20, at_gc: 1)
         .row([FIND, "#{AR}:5 Relation#load", "/srv/app/shows.rb:8 Shows#index", *RACK], "Array", inuse: 12, at_gc: 1)
         .row(["/srv/app/work.rb:9 Work#run", "/srv/app/main.rb:9 <main>"], "String", inuse: 3, alloc: 300, at_gc: 1)
         .row(["/srv/app/main.rb:9 <main>"], "String", inuse: 4, at_gc: 1)
         .row([], "String", inuse: 11, at_gc: 1)
  end

  def saved(build)
    Tempfile.create(["heap", ".pb.gz"]) do |file|
      file.binmode
      file.write(PprofEncoder.gzip(build.raw))
      file.flush
      Profile.load(file.path)
    end
  end

  # Stacks as a tree may show them, built the plain way: paths of frames to samples.
  def plain(profile, direction, by)
    profile.rows.each_with_object(Hash.new(0)) do |row, sums|
      next if row.inuse.zero?

      site = profile.stacks.site(row.columns[Columns::STACK])
      native = direction == :callees ? row.stack.take_while(&:native?) : []
      frames = (native + row.stack.drop_while { |frame| site.nil? || !frame.equal?(profile.stacks.frame(site)) }).reverse
      # What runs on its caller's line, or by method in the same method, is its caller.
      frames = frames.each_with_object([]) do |frame, kept|
        name = frame.native? ? " #{frame}" : "#{frame.full_path}#{":#{frame.lineno}" if by == :line} #{frame.qualified_label}"
        next kept << [name, nil] if frame.native? && (by == :line || kept.empty? || kept.last[0] != name)

        line = [frame.full_path, frame.lineno]
        next kept.last[1] = line if kept.any? && (kept.last[1] == line || by == :method && kept.last[0] == name)

        kept << [name, line]
      end
      names = frames.map(&:first)
      names.reverse! if direction == :callers
      (0..names.size).each { |length| sums[names.first(length)] += row.inuse.samples }
    end
  end

  # The same of a Tree.
  def paths(node, before = [], found = {})
    return found if node.role

    names = before + node.places.map { |place| "#{place.path}#{":#{place.line}" if place.line} #{place.label}" }
    found[names] = node.samples
    node.children.each { |child| paths(child, names, found) }
    found
  end

  def each_node(node, &block)
    yield node
    node.children.each { |child| each_node(child, &block) }
  end

  test "from the root down, word for word" do
    assert_equal(<<~TEXT, web_build.profile.tree.text(root: "/srv/app").to_s)
      Live memory (objects that survived the last GC), callees from the root down: 50.0 MiB ±9.8 MiB in 1,310,770 objects, 100
      samples
         bytes   share    95% interval  samples  from the root down
      50.0 MiB  100.0%        ±9.8 MiB      100  (all)
      41.0 MiB   82.0%        ±9.0 MiB       82  ├ main.rb:3 <main> › 4 frames › rack-3.1.7/lib/rack1.rb:1 Rack#call1
      35.0 MiB   70.0%        ±8.3 MiB       70  │ ├ shows.rb:7 Shows#show › …/lib/relation.rb:5 Relation#load
      25.0 MiB   50.0%        ±7.1 MiB       50  │ │ ├ (the line itself)
      10.0 MiB   20.0%        ±4.5 MiB       20  │ │ └ activerecord-7.1.2/lib/finder.rb:9 Relation#find
       6.0 MiB   12.0%  3.2 – 10.3 MiB       12  │ └ shows.rb:8 Shows#index › 1 frame › …/lib/finder.rb:9 Relation#find
       5.5 MiB   11.0%   2.8 – 9.7 MiB       11  ├ (no stack)
      ~3.5 MiB    7.0%   1.5 – 7.0 MiB        7  └ main.rb:9 <main>
      ~2.0 MiB    4.0%   0.6 – 5.0 MiB        4    ├ (the line itself)
      ~1.5 MiB    3.0%   0.3 – 4.2 MiB        3    └ work.rb:9 Work#run
      ~ fewer than 10 samples: weak
    TEXT
  end

  test "from the line up" do
    text = web_build.profile.tree(direction: :callers).text(root: "/srv/app").to_s
    assert(text.match?(/├ …\/lib\/relation\.rb:5 Relation#load › shows\.rb:7 Shows#show › 6 frames$/), text)
    assert(text.match?(/├ .*finder\.rb:9 Relation#find › .*relation\.rb:5 Relation#load\n.*│ ├ shows\.rb:7.*main\.rb:3 <main>\n.*│ └ shows\.rb:8/), text)
    assert(text.match?(/└ work\.rb:9 Work#run › main\.rb:9 <main>$/), text)
  end

  test "of random stacks each node has what a plain count says, from memory and from a file" do
    random = Random.new(11)
    (SLOW ? 8 : 3).times do
      # A line is of one method; C methods and blocks run on their caller's line.
      build = Build.new
      120.times do
        stack = Array.new(random.rand(0..12)) { random.rand(12).then { |line| "/srv/f#{line % 4}.rb:#{line + 1} M#m#{line % 5}" } }
        stack = stack.flat_map { |frame| random.rand(4).zero? ? [frame.sub(" ", " block in "), frame.sub(/ .*/, " Array#each"), frame] : [frame] }
        next build.row(stack, "String", inuse: random.rand(1..9), at_gc: 1) unless random.rand(3).zero? && !stack.empty?

        build.malloc(["!/usr/lib/libfoo.so f#{random.rand(9)}", *stack], "libfoo.so", 64, inuse: random.rand(1..9))
      end
      [build.profile, saved(build)].each do |profile|
        Tree::DIRECTIONS.keys.product(Tree::BY) do |direction, by|
          tree = profile.tree(direction: direction, by: by, top: 100_000, min_share: 0)
          expected = plain(profile, direction, by)
          found = paths(tree.root)
          assert_nil(found.find { |names, samples| expected[names].to_i != samples })
          assert_equal(profile.groups(:line).total.inuse.samples, tree.root.samples)
          each_node(tree.root) do |node|
            next if node.children.empty?

            assert_equal(node.samples, node.children.sum(&:samples))
            assert_close(node.estimate.space, node.children.sum { |child| child.estimate.space }, 1e-6)
            children = node.children.reject(&:role).map(&:places)
            assert_equal(children, children.uniq)
          end
          assert(found.size > expected.size / 6, "#{found.size} of #{expected.size}: chains are one node, branches are not")
        end
      end
    end
  end

  test "more than 127 frames and locations: tokens of several bytes" do
    build = Build.new
    300.times { |n| build.row(["/srv/leaf.rb:#{n + 1} L#l", "/srv/mid.rb:#{n % 20 + 1} M#m", "/srv/main.rb:#{n % 3 + 1} <main>"], "String", inuse: 1, at_gc: 1) }
    [build.profile, saved(build)].each do |profile|
      Tree::DIRECTIONS.each_key do |direction|
        tree = profile.tree(direction: direction, top: 100_000, min_share: 0)
        found = paths(tree.root)
        assert_equal(plain(profile, direction, :line).slice(*found.keys), found)
      end
      assert_equal(3, profile.tree.root.children.size)
      assert_equal(300, profile.tree(direction: :callers, top: 1000, min_share: 0).root.children.size)
    end
  end

  test "recursion, on one line and over two, however deep" do
    build = Build.new
    [4000, 3999].each { |depth| build.row(["/srv/a.rb:1 A#a"] * depth + ["/srv/main.rb:1 <main>"], "String", inuse: 1, at_gc: 1) }
    (0...4000).step(19) do |n|
      build.row(["/srv/b.rb:1 B#b", "/srv/c.rb:2 C#c"] * (n / 40) + ["/srv/d.rb:#{n % 40 + 1} D#d"] * 2 + ["/srv/main.rb:2 <main>"], "String", inuse: 1, at_gc: 1)
    end
    profile = build.profile
    Tree::DIRECTIONS.keys.product(Tree::BY) do |direction, by|
      tree = profile.tree(direction: direction, by: by, top: 5000, min_share: 0)
      assert_equal(213, tree.root.samples)
      assert(tree.to_s.lines.size > 50)
      JSON.generate(tree.to_h)
    end
    root = build.profile.filter(path: "a.rb").tree.root
    assert_equal([["/srv/main.rb", "/srv/a.rb"], []], [root.places.map(&:path), root.children])
  end

  test "numbers of locations that are longer than they can be" do
    stacks = ListStacks.new(["", "main", "/a.rb"], [0, 0, 0, 0, 0, 1, 2, 0, 3, 0], Hash.new(0).merge!(1 => 1))
    row = Columns.row(stack: stacks.intern("\x81".b + "\x80".b * 20 + "\x01\x01".b), slot_size: 40, allocation_gc: 1, inuse_samples: 5, inuse_objects: 50, inuse_space: 2000)
    Tree::DIRECTIONS.each_key { |direction| assert_equal(5, Profile.new(meta: {}, texts: ["", "main", "/a.rb"], stacks: stacks, rows: [row]).tree(direction: direction).root.samples) }
  end

  test "calls that were inlined are one location of several frames" do
    texts = ["", "inner", "outer", "main", "/a.go"]
    fields = [1, 4, 0, 1, 0, 2, 4, 0, 2, 0, 3, 4, 0, 3, 0]
    stacks = ListStacks.new(texts, fields, {7 => [0, 1], 8 => 2}, [])
    row = Columns.row(stack: stacks.intern("\x07\x08".b), slot_size: 40, allocation_gc: 1, inuse_samples: 5, inuse_objects: 50, inuse_space: 2000)
    root = Profile.new(meta: {}, texts: texts, stacks: stacks, rows: [row]).tree.root
    assert_equal(%w[main outer inner], root.places.map(&:label))
    assert_equal(%w[inner outer main], Profile.new(meta: {}, texts: texts, stacks: stacks, rows: [row]).tree(direction: :callers).root.places.map(&:label))
  end

  test "what is not shown is counted, with its figures" do
    build = Build.new
    60.times { |n| build.row(["/srv/a.rb:#{n + 1} A#a", "/srv/main.rb:1 <main>"], "String", inuse: n + 1, at_gc: 1) }
    tree = build.profile.tree(top: 6)
    assert_equal([60, 59, 58, 57, 56], tree.root.children.first(5).map(&:samples))
    more = tree.root.children.last
    assert_equal([:more, 55, 1540, 5], [more.role, more.count, more.samples, tree.root.children.size - 1])
    assert(tree.to_s.include?("└ 55 more"), tree.to_s)
    assert_equal(46, build.profile.tree(top: 1000, min_share: 0.0084).root.children.size)
    assert(build.profile.tree(top: 1000, min_share: 0.9).root.children.size > 5, "if all are small some are shown all the same")
  end

  test "any value; objects with their own intervals" do
    profile = web_build.profile
    tree = profile.tree(value: :alloc_objects, by: :method, min_share: 0)
    assert_close(profile.groups(:line).total.alloc.objects, tree.root.estimate.objects)
    data = tree.to_h
    assert_equal(["objects", tree.root.estimate.objects_interval], [data[:unit], data[:nodes][0][:interval]])
    Value::NAMES.each { |name| malloc_build("memsize" => true).profile.tree(value: name).to_s }
    assert_close(1_050_000_000, malloc_build.profile.tree(value: :inuse_memsize).root.estimate.space)
  end

  test "of a part; of nothing; of another tool's file" do
    part = web_build.profile.filter(path: "finder.rb:9").tree(direction: :callers)
    assert_equal(32, part.root.samples)
    assert(part.to_s.include?("filtered: path finder.rb:9"), part.to_s)
    empty = Build.new.profile.tree
    assert(empty.to_s.end_with?("nothing sampled\n"))
    JSON.generate(empty.to_h)
    Tempfile.create(["heap", ".pb"]) do |file|
      file.binmode
      file.write(PprofEncoder.new(web_build.raw, types: %w[inuse_objects inuse_space], meta: nil).encode)
      file.flush
      refute(Profile.load(file.path).tree.to_s.match?(/NaN|samples/), Profile.load(file.path).tree.to_s)
    end
  end

  test "what makes no sense is an ArgumentError" do
    profile = web_build.profile
    assert_error(ArgumentError, /direction must be one of :callees, :callers, not :up/) { profile.tree(direction: :up) }
    assert_error(ArgumentError, /by must be one of :line, :method, not :class/) { profile.tree(by: :class) }
    assert_error(ArgumentError, /min_share must be a number from 0 to 1, not 5/) { profile.tree(min_share: 5) }
  end

  test "at any width no line is wider, hostile names or not, and a style changes nothing but colours" do
    bad = Build.new.row(["/srv/\e[2J\u202e.rb:1 A#\e]0;x\a", "/srv/b.rb:2 <main>"], "String", inuse: 30, at_gc: 3)
                   .row(["/srv/b.rb:2 <main>"], "String", inuse: 30, at_gc: 3)
    deep = Build.new
    25.times { |n| deep.row((1..(n + 1)).map { |m| "/srv/app/models/concerns/part#{m}.rb:#{m} Part#m#{m}" }.reverse, "String", inuse: n + 1, at_gc: 1) }
    marker = Class.new { Layout::STYLES.each { |name| define_method(name) { |text| "\u0001#{text}\u0002" } } }.new
    [bad, deep, web_build, malloc_build].each do |build|
      Tree::DIRECTIONS.each_key do |direction|
        [40, 60, 80, 120, 200].each do |width|
          text = build.profile.tree(direction: direction).text(width: width).to_s
          refute(text.delete("\n").match?(HeapSample::Printable::UNSAFE), text.inspect)
          text.each_line(chomp: true) { |line| assert(line.length <= width, "#{line.length} > #{width}: #{line}") }
          assert_equal(text, build.profile.tree(direction: direction).text(width: width, style: marker).to_s.delete("\u0001\u0002"))
        end
      end
    end
  end

  test "as data, in one line, and for pp" do
    tree = web_build.profile.tree
    data = JSON.parse(JSON.generate(tree.to_h), symbolize_names: true)
    all, rails, shows, itself = data[:nodes]
    assert_equal([nil, 0, 1, 2], [all[:parent], rails[:parent], shows[:parent], itself[:parent]])
    assert_equal([6, 82, "Rack#call1"], [rails[:frames].size, rails[:samples], rails[:frames].last[:label]])
    assert_equal(tree.root.children[0].estimate.space_interval, rails[:interval])
    assert_equal(["itself", 50], [itself[:role], itself[:samples]])
    assert_equal(1, tree.inspect.lines.size)
    assert(tree.pretty_inspect.lines.size.between?(5, 9), tree.pretty_inspect)
  end

  # As benchmark/report.rb makes them, but packed as they are in a file.
  # 10 s for 200,000 stacks; SLOW=1 measures so many.
  test "a tree of many stacks of 60 frames, no two alike, takes no more than 12 times what a lookup of each frame takes" do
    count = SLOW ? 200_000 : 20_000
    random = Random.new(1)
    texts = ["", *Array.new(500) { |n| "M#m#{n}" }, *Array.new(50) { |n| "/srv/app/f#{n}.rb" }]
    fields = Array.new(8000) { [random.rand(1..500), random.rand(501..550), 0, random.rand(1..300), 0] }.flatten
    stacks = ListStacks.new(texts, fields, Hash.new { |_, id| id })
    frames = Array.new(8000) { |id| [id & 0x7f | 0x80, id >> 7].pack("CC") }
    many = Array.new(9000) { frames.sample(random: random) }.join
    rows = Array.new(count) do |n|
      list = frames[n % 8000] + frames[n / 8000] + many.byteslice(n % 4000 * 2, 36) + many.byteslice(n % 450 * 40, 80)
      Columns.row(stack: stacks.intern(list), slot_size: 40, allocation_gc: n % 100).tap { |row| row[Columns::INUSE, 4] = row[Columns::ALLOC, 4] = [1, 13_108.0, 524_320.0, 2.7e11] }
    end
    profile = Profile.new(meta: Build.new.meta, texts: texts, stacks: stacks, rows: rows)
    cpu = lambda do |&block|
      start = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
      block.call
      Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - start
    end
    # The fastest of three, of both: machines differ, and other programs can make one of them five times as slow.
    tallies = []
    took = Tree::DIRECTIONS.to_h { |direction, _| [direction, []] }
    3.times do
      tallies << cpu.() { count.times { |n| frames.slice(n % 7000, 60).tally } }
      took.each { |direction, times| times << cpu.() { assert_equal(count, profile.tree(direction: direction).root.samples) } }
    end
    took.each { |direction, times| assert(times.min < 12 * tallies.min, "#{direction} took #{times} s, lookups #{tallies} s") }
  end
end
