# frozen_string_literal: true

# Heap dumps next to what heapy and sheap report of the same files.
#
# harb is a program in C++, and no gem, so it was compared by hand (27075c7, built with -include cstdio and cstdarg) on the third dump:
# - it counts the lines for shapes as objects, 225 with 10,176 bytes; its other objects and bytes are ours
# - its "retained memsize" of the Hash in ORDERS is 62,496 bytes: 48,000 as ours, which emptying it frees, and 14,496 of the Hash itself
# - its path to an Order has the same objects, and one more between the root and the class Object, VM/pin_array_list

require "fileutils"
require "json"
require "stringio"
require "tmpdir"
require_relative "../../testing"
require_relative "../../gems"
set_up_gems(__dir__)
require "heapsample"
require "heapy"
require "sheap"

class HeapDumpsTest < Test
  shared(:folder) do |share|
    Dir.mktmpdir do |folder|
      said, status = Open3.capture2e(RbConfig.ruby, "#{__dir__}/program.rb", folder)
      raise said unless status.success?

      share.call(folder)
    end
  end

  def path(number) = File.join(folder, "#{number}.json")
  def lines(number) = (@lines ||= {})[number] ||= File.foreach(path(number)).map { |line| JSON.parse(line) }
  def objects(number) = lines(number).reject { |line| %w[ROOT SHAPE].include?(line["type"]) }
  def profile(number, **options) = HeapSample::Profile.load(path(number), **options)

  # What a block prints.
  def printed
    before, $stdout = $stdout, StringIO.new
    yield
    $stdout.string
  ensure
    $stdout = before
  end

  # [name, figure] of the lines of a section of heapy.
  def section(text, title) = text[/^#{title}.*\n=+\n+((?:.+\n)*)/, 1].scan(/^\s*(\d+)  (\S.*)$/).to_h { |number, name| [name, Integer(number)] }

  # Bytes and objects by file and line, of what was traced.
  def by_line(profile)
    profile.groups(:line).reject { |group| group.key.path.empty? }.group_by { |group| "#{group.key.path}:#{group.key.line}" }
           .transform_values { |groups| HeapSample::Estimate.sum(groups.map(&:inuse)) }
  end

  test "heapy's bytes and objects by line are ours" do
    text = printed { Heapy::Analyzer.new(path(2)).drill_down("all", 1 << 20) }
    ours = by_line(profile(2))
    assert_equal(section(text, "allocated by memory"), ours.transform_values { |estimate| estimate.space.to_i })
    assert_equal(section(text, "object count"), ours.transform_values { |estimate| estimate.objects.to_i })
  end

  test "heapy's generations are ours; the one without a number also counts lines of roots and shapes" do
    theirs = printed { Heapy::Analyzer.new(path(2)).analyze }.scan(/Generation: +(\S+) object count: (\d+), mem: (\S+) kb/)
    profile = profile(2)
    ours = profile.generations.map { |one| [(profile.info.gc_count - one.ages.begin).to_s, one.estimate.objects.to_i.to_s, (one.estimate.space / 1024).round(1).to_s] }
    assert_equal(theirs.reject { |name,| name == "nil" }.sort, ours.sort)
    others = lines(2).size - objects(2).size
    assert_equal(theirs.assoc("nil")[1].to_i, profile.generations.ageless.objects + others)
    # heapy sums the bytes of that generation under another name, and prints 0.
    assert_equal("0.0", theirs.assoc("nil")[2])
  end

  test "heapy's duplicate strings are ours, which count strings that were not traced as well, and show no text" do
    strings = objects(2).select { |line| line["type"] == "STRING" && line["value"] }.group_by { |line| line["value"] }.select { |_, same| same.size > 1 }
    assert_equal(strings.map { |_, same| same.size }.sort, profile(2).dump.duplicates.map(&:strings).sort)
    theirs = printed { Heapy::Analyzer.new(path(2)).drill_down("all", 1 << 20) }.split("Duplicate strings").last.scan(/^ +(\d+)  "(.*)"$/)
    note = "a note that a hundred orders have"
    traced = strings[note].count { |line| line["file"] }
    assert_equal([traced, 300], [theirs.find { |_, text| text == note }[0].to_i, traced])
  end

  # Of the second dump: objects that are not in the first, and are in the third, where an object is what the block makes of a line.
  def retained
    first, third = [0, 2].map { |number| objects(number).to_h { |line| [yield(line), true] } }
    objects(1).reject { |line| first[yield(line)] }.select { |line| third[yield(line)] }
  end

  def whole(line) = line.values_at("address", "type", "class", "slot_size", "file", "line", "generation")

  test "heapy's and sheap's differences of three dumps take slots that were used again for the same objects; ours do not" do
    io = StringIO.new
    Heapy::Diff.new(before: path(0), after: path(1), retained: path(2), io: io).call
    counts = io.string.scan(/^Retained (\w+) (\d+) objects of size (\d+).* at: (.*):(\d*)$/)
    by_address = retained { |line| line["address"] }
    assert_equal(by_address.size, counts.sum { |_, count| count.to_i } - (lines(1).select { |line| line["type"] == "SHAPE" } - lines(0)).count { |line|
      lines(2).any? { |one|
        one["address"] == line["address"]
      }
    })
    assert_equal(retained { |line| line.values_at("address", "type") }.size, Sheap::Diff.new(path(0), path(1), path(2)).retained.count { |object| !object.root? && object.type_str != "SHAPE" })
    ours = HeapSample::Retained.new(*[0, 1, 2].map { |number| profile(number) }, by: :class, top: 10_000)
    assert_equal(retained { |line| whole(line) }.size, ours.map { |row| row.stayed.objects }.sum)
    # 100 orders of the second dump are in the third; drafts are not, though other drafts have their slots.
    assert_equal([100.0, nil], %w[Order Draft].map { |name| ours.find { |row| row.key == name }&.stayed&.objects })
  end

  test "sheap's objects and bytes of a class are ours, and its path from a root is as long as ours" do
    heap = Sheap::Heap.new(path(2))
    ours = profile(2, references: true)
    %w[Order String Hash].each do |name|
      theirs = heap.class_named(name).first.instances
      row = ours.top(by: :class, top: 10_000).find { |one| one.key == name }
      assert_equal([theirs.size, theirs.sum(&:memsize)], [row.estimate.objects, row.value], name)
    end
    order = heap.class_named("Order").first.instances.first
    theirs = heap.find_path(heap.roots.reject { |root| root.json.include?("machine_context") }, [order])
    path = ours.holders.select { |held| held.class_name == "Order" }.map { |held| ours.holders.path(held.node) }.min_by(&:size)
    assert_equal(theirs.size - 1, path.size, path.join(" → "))
  end
end

# Dumps of other Rubies: 2.7 of Debian 11, and 3.3 of Debian 13.
class OtherRubiesTest < Test
  MISSING = ("needs root and debootstrap" unless Process.uid.zero? && system("command -v debootstrap >/dev/null"))

  # A Debian with Ruby.
  def debian(suite)
    root = "#{TOP}/build/heap-dumps/#{suite}"
    return root if File.exist?("#{root}/installed")

    FileUtils.rm_rf(root)
    said, status = Open3.capture2e({"SUITE" => suite}, "#{TOP}/tool/debootstrap", root, "ruby")
    assert(status.success?, said)
    FileUtils.touch("#{root}/installed")
    root
  end

  {"bullseye" => "2.7", "trixie" => "3.3"}.each do |suite, version|
    test "dumps of Ruby #{version}: figures, generations, what retains what, and what three of them show", missing: MISSING do
      root = debian(suite)
      FileUtils.mkdir_p("#{root}/tmp/dumps")
      FileUtils.cp("#{__dir__}/program.rb", "#{root}/tmp")
      said, status = Open3.capture2e("chroot", root, "/usr/bin/env", "-i", "ruby", "/tmp/program.rb", "/tmp/dumps")
      assert(status.success?, said)
      dumps = Array.new(3) { |number| "#{root}/tmp/dumps/#{number}.json" }
      objects = File.foreach(dumps.last).map { |line| JSON.parse(line) }.reject { |line| %w[ROOT SHAPE].include?(line["type"]) }
      profile = HeapSample::Profile.load(dumps.last, references: true)
      bytes = ->(list) { list.sum { |line| line["memsize"].to_i } }
      traced = objects.select { |line| line["file"] == "/tmp/program.rb" }.group_by { |line| line["line"] }
      assert_equal([], profile.dump.left_out)
      assert_equal([objects.size, bytes[objects]], [profile.dump.count, profile.top(by: :class, top: 10_000).sum(&:value)])
      assert_equal(traced.transform_values { |list| [list.size, bytes[list]] }.sort,
                   profile.groups(:line).select { |group| group.key.path == "/tmp/program.rb" }.group_by { |group| group.key.line }
                          .transform_values { |groups| HeapSample::Estimate.sum(groups.map(&:inuse)).then { |sum| [sum.objects, sum.space] } }.sort)
      assert_equal(objects.filter_map { |line| line["generation"] }.tally.sort, profile.generations.map { |one| [profile.info.gc_count - one.ages.begin, one.estimate.objects] }.sort)
      held = profile.holders.select { |one| one.class_name == "Order" }.group_by { |one| profile.holders.path(one.node).join(" → ") }
      assert_equal([300], held.map { |_, parts| parts.sum(&:objects) })
      assert_match(%r{class Object \(Hash\) /tmp/program\.rb:9 → 300 Order}, HeapSample::Profile.load(dumps.last, references: true).filter(class: "Order").why.to_s)
      ours = HeapSample::Retained.new(*dumps.map { |path| HeapSample::Profile.load(path) }, by: :class, top: 10_000)
      assert_equal([100.0, nil], %w[Order Draft].map { |name| ours.find { |row| row.key == name }&.stayed&.objects })
    end
  end
end

# A dump of 1 GB.
class LargeDumpTest < Test
  ORDERS = 246_000
  RSS = 'at_exit { $stderr.puts File.read("/proc/self/status")[/VmHWM:\s+(\d+)/, 1] }; require "heapsample/tool"; exit HeapSample::Tool::CLI.new(ARGV).run'

  # Seconds, and MiB of memory.
  def took(*arguments)
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    _, error, status = Open3.capture3(RbConfig.ruby, "-I", "#{TOP}/src/lib", "-e", RSS, "--", *arguments)
    assert(status.success?, error)
    [Process.clock_gettime(Process::CLOCK_MONOTONIC) - began, error.lines.last.to_i >> 10]
  end

  test "1 GB takes less than a minute and 1 GB of memory; what retains what, three minutes", missing: ("takes five minutes: SLOW=1" unless SLOW) do
    Dir.mktmpdir do |folder|
      path = File.join(folder, "large.json")
      assert(system(RbConfig.ruby, "#{__dir__}/large.rb", path, ORDERS.to_s))
      note("#{File.size(path) >> 20} MiB")
      {"top" => 60, "why" => 180}.each do |command, most|
        seconds, mib = took(command, path)
        note("#{command}: #{seconds.round} s, #{mib} MiB")
        assert_operator(seconds, :<, most, command)
        assert_operator(mib, :<, 1024, command)
      end
    end
  end
end
