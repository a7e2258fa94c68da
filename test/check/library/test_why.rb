# frozen_string_literal: true

# A saved profile, read again.

require "stringio"
require_relative "../../testing"
require_relative "builds"

class WhyTest < Test
  include Builds

  def again(profile)
    io = StringIO.new("".b)
    PprofWriter_OF_LIBRARY.new(profile).write(io)
    HeapSample::Profile.load(StringIO.new(io.string), name: "again")
  end

  PprofWriter_OF_LIBRARY = HeapSample::PprofWriter

  # The text of the tree, without figures.
  def ways(why, width: 200)
    lines = why.text(width: width, root: "/srv/app").to_s.lines(chomp: true)
    from = lines.index { |line| line.end_with?("what retains it") }
    lines[from + 1..].take_while { |line| !line.empty? }.map { |line| line[lines[from].index("what retains it")..] }
  end

  test "rows, totals and reports are the same with holders and without" do
    with, without = held_build.profile, HeapSample::Profile.from_raw(held_build.raw.except(:holders, :kept))
    [[with, without], [again(with), again(without)]].each do |one, other|
      assert_equal(other.rows.map(&:to_h), one.rows.map(&:to_h))
      %i[report top tree churn generations].each { |name| assert_equal(other.public_send(name).to_s, one.public_send(name).to_s) }
      assert_equal(other.stacks.frame_count, one.stacks.frame_count)
    end
  end

  test "a file keeps ways, kinds, files and lines; older readers see samples of nothing" do
    profile = held_build.profile
    loaded = again(profile)
    assert_equal(profile.holders.map { |held| profile.holders.path(held.node) }, loaded.holders.map { |held| loaded.holders.path(held.node) })
    assert_equal(ways(profile.why), ways(loaded.why))
    edge = loaded.holders.flat_map { |held| loaded.holders.path(held.node) }.find { |one| one.kind == "local" }
    assert_equal([SHOP, 41], [edge.path, edge.line])
    assert_equal(again(loaded).why(full: true).to_h, loaded.why(full: true).to_h)
  end

  test "what is kept is what there is: the sum over holders is the sum over rows" do
    profile = held_build.profile
    total = profile.groups(:class).total
    assert_close(total.inuse.space + total.young.space, profile.why.total.space, 1e-9)
    assert_close(total.inuse.variance + total.young.variance, profile.why.total.variance, 1e-9)
    assert_equal(432, profile.why.total.samples)
    assert_equal(profile.why.total.space, profile.why.sum { |node| node.estimate.space })
  end

  test "the short form passes through collections and tells whose they are; the full form has all" do
    assert_equal(["(constants)", "├ Session::STORE", "│ ├ @data of Session → 3,087 String + 6,297 blocks", "│ └ @next of Session ×812 → @data of Session → 3,087 String",
                  "└ Ticket::ALL", "  ├ 5,221 Ticket", "  └ @name of Ticket → 10,290 String", "(threads)",
                  "└ thread-local :cache → local job of block in Worker#run shop.rb:41 → 783 Hash", "(not reached)", "└ 3,087 String"], ways(held_build.profile.why))
    full = ways(held_build.profile.why(full: true))
    assert(full.include?("├ Session::STORE → {} value of Hash") && full.include?("└ Ticket::ALL → [] of Array"), full.join("\n"))
  end

  test "at the end of a way stands what is asked for" do
    text = held_build.profile.why(by: :line).text(root: "/srv/app").to_s
    assert(text.include?("Ticket::ALL") && text.include?("5,221 at shop.rb:12 Ticket.load"), text)
    assert_error(ArgumentError, /cannot group by :colour/) { held_build.profile.why(by: :colour) }
  end

  test "a list is the same list however long it is, and so is a tree of arrays" do
    build = Build.new(interval: 4096)
    3.times { |line| build.row(["/srv/app/a.rb:#{line + 1} A#b"], "Leaf", inuse: 50, at_gc: 1) }
    link = "ivar @next of Node"
    branch = ["ivar @children of Node", "element [] of Array"]
    held = HeldBuild.new(build).way(0, ["constant LIST", "#{link} ×3"]).way(1, ["constant LIST", *[link] * 9, "#{link} ×800"]).way(2, ["constant TREE", *branch * 40])
    assert_equal(["(constants)", "├ LIST → @next of Node ×3 – 809 → 10,290 Leaf", "└ TREE → @children of Node ×40 → 5,145 Leaf"], ways(held.profile.why))
    assert(ways(held.profile.why(full: true)).include?("└ TREE → (@children of Node → [] of Array) ×40 → 5,145 Leaf"))
  end

  test "names are never cut in 80 columns, nor in 40, however deep and long they are" do
    name = "Some::Very::Long::Namespace::Of::An::Application::That::Nests::Modules::Too::Deep::REGISTRY_OF_ALL_THINGS"
    build = Build.new(interval: 4096)
    30.times { |line| build.row(["/srv/app/a.rb:#{line + 1} A#b"], "Leaf#{line}", inuse: 50 + line, at_gc: 1) }
    held = HeldBuild.new(build)
    30.times { |line| held.way(line, ["constant #{name}", *Array.new(line) { |level| "ivar @level_#{level} of Level#{level}" }]) }
    [80, 40].each do |width|
      text = held.profile.why(top: 100).text(width: width).to_s
      assert(text.lines(chomp: true).all? { |line| line.length <= width }, text)
      joined = text.lines(chomp: true).map { |line| line.sub(/\A[~\d. KMiB%±]*[├└│ …]*/, "").delete(" ") }.join
      assert(joined.include?(name) && joined.include?("@level_3ofLevel3"), text)
    end
  end

  test "depth and width are bounded, and nothing is lost: what is not shown is counted" do
    build = Build.new(interval: 4096)
    held = HeldBuild.new(build)
    200.times do |line|
      build.row(["/srv/app/a.rb:#{line + 1} A#b"], "Leaf#{line}", inuse: 50, at_gc: 1)
      held.way(line, ["constant ALL#{line % 20}", *Array.new(line % 50) { |level| "ivar @level_#{level}_#{line} of Level#{level}" }])
    end
    why = held.profile.why(top: 10, min_share: 0)
    nodes = why.to_h[:nodes]
    assert_equal(11, nodes.count { |node| node[:role].nil? })
    more = nodes.select { |node| node[:role] == :more }
    shown = nodes.reject { |node| node[:role] || nodes.any? { |other| other[:parent] == nodes.index(node) } }
    assert_close(why.total.space, (more + shown).sum { |node| node[:bytes] }, 1e-6)
  end

  test "of an earlier profile only what came since counts" do
    base = ->(**meta) { Build.new(interval: 4096, **meta).row(["/srv/app/a.rb:1 A#b"], "Old", inuse: 100, at_gc: 20) }
    earlier = base.call.row(["/srv/app/a.rb:3 A#b"], "Young", young: 10, at_gc: 100)
    later = base.call(taken_ns: Build::STARTED + 20 * Build::MINUTE, gc: {"count" => 110, "minor" => 85, "major" => 25})
                .row(["/srv/app/a.rb:3 A#b"], "Young", young: 25, at_gc: 100)
                .row(["/srv/app/a.rb:2 A#c"], "New", inuse: 60, at_gc: 105).row(["/srv/app/a.rb:2 A#c"], "New", young: 20, at_gc: 110)
    now = HeldBuild.new(later).way(0, ["constant A"]).way(1, ["constant B"]).way(2, ["constant C"]).way(3, ["constant C"]).profile
    why = now.why(since: HeapSample::Profile.from_raw(earlier.raw))
    assert_equal(["(constants)", "├ C → 8,232 New", "└ B → 1,544 Young"], ways(why))
    assert(why.to_s.include?("allocated since 00:10:00 UTC: 381.9 KiB"), why.to_s)
    assert_equal(0, now.why(since: now).total.samples)
  end

  test "filters choose whose holders are told" do
    why = held_build.profile.filter(class: "Ticket").why
    assert_equal(["(constants)", "└ Ticket::ALL → 5,221 Ticket"], ways(why))
    assert(why.to_s.start_with?("A part of the profile, filtered: class Ticket"))
  end

  test "where there was no walk, or it was refused, the text says so, and what to do" do
    none = sample_build.profile.why
    assert(none.reason.include?("GC.sample_profile(why: true)") && none.empty? && none.to_s.split.join(" ") == none.reason, none.to_s)
    refused = HeapSample::Profile.from_raw(held_build(refused: "it would need 120 MiB, and the cgroup has 80 MiB left").raw.except(:holders, :kept)).why
    assert_equal("This profile has no heap walk: it would need 120 MiB, and the cgroup has 80 MiB left.", refused.reason)
    assert_equal([], refused.to_a)
    assert_equal("`#{refused.reason}`\n", refused.text.to_markdown)
  end

  test "roots that nobody wrote are explained, and are never the largest holder" do
    profile = held_build.profile
    text = profile.why.to_s
    assert(text.include?("(not reached): No reference was found"), text)
    build = Build.new(interval: 4096).row(["/srv/app/a.rb:1 A#b"], "Leaf", inuse: 500, at_gc: 1).row(["/srv/app/a.rb:2 A#b"], "Leaf", inuse: 50, at_gc: 1)
    held = HeldBuild.new(build).way(0, ["root (machine stack)"]).way(1, ["constant KEPT"])
    assert(held.profile.why.to_s.include?("The largest: `KEPT` retains"), held.profile.why.to_s)
  end

  test "folded and markdown have the same ways and bytes" do
    why = held_build.profile.why(by: :class)
    folded = why.text.to_folded
    assert(folded.include?("(constants);Ticket::ALL;@name of Ticket;String 411603\n"), folded)
    assert_close(why.total.space, folded.lines.sum { |line| line[/\d+$/].to_i }, 1e-4)
    assert(why.text.to_markdown.include?("  - 1.2 MiB ±0.1 MiB, 15.5%: `Ticket::ALL`\n    - 815.7 KiB"), why.text.to_markdown)
  end

  test "no name from a file moves the cursor" do
    build = Build.new(interval: 4096).row(["/srv/app/a.rb:1 A#b"], "Leaf", inuse: 500, at_gc: 1)
    text = HeldBuild.new(build).way(0, ["constant A\e[31m\n::B"]).profile.why.to_s
    assert(text.include?("A\\e[31m\\n::B"), text)
  end

  test "a damaged file is refused: a part of no reference, a reference below itself" do
    build = HeldBuild.new(Build.new(interval: 4096).row(["/srv/app/a.rb:1 A#b"], "Leaf", inuse: 500, at_gc: 1)).way(0, ["constant A"])
    saved = StringIO.new("".b).tap { |io| HeapSample::PprofWriter.new(build.profile).write(io) }.string
    refused = ->(wrong, why) { assert_error(HeapSample::FormatError, why) { HeapSample::Profile.load(StringIO.new(wrong), name: "x") } }
    part = saved.index("\xf2\x01".b) or flunk("no part")
    assert_equal(2, saved.getbyte(part + 4))                       # the place of its reference
    refused.(saved.dup.tap { |bytes| bytes.setbyte(part + 4, 3) }, /a part of a row has no reference/)
    reference = saved.rindex("\xca\x3e".b) or flunk("no reference")
    assert_equal([8, 1], saved.byteslice(reference + 3, 2).bytes)  # its parent
    refused.(saved.dup.tap { |bytes| bytes.setbyte(reference + 4, 2) }, /a reference has no parent/)
  end

  test "what a profile says of the walk" do
    walk = held_build.profile.info.walk
    assert_equal([1_234_567, 2_345_678, 1.7, 0.021, 7_000_000, nil], [walk.objects, walk.edges, walk.seconds, walk.hold_up, walk.child_bytes, walk.refused])
    assert_nil(sample_build.profile.info.walk)
    assert_equal({}, HeapSample::Walk.of({"objects" => -3, "ns" => "x", "refused" => 4}).to_h)
  end

  test "a walk that was refused for want of memory says how much, and where" do
    short = {refused: "too little memory is left", room_bytes: 20 << 20, limit_bytes: 400 << 20, demand_bytes: 90 << 20}
    refused = ->(**more) { held_build(**short, **more).profile.info.walk.refused }
    assert_equal("too little memory is left (20.0 MiB of 400.0 MiB are left in cgroup /pod/app; a walk needs 90.0 MiB)", refused.(cgroup: "/pod/app"))
    assert_equal("too little memory is left (20.0 MiB of 400.0 MiB are left in the machine; a walk needs 90.0 MiB)", refused.(cgroup: nil))
    assert_equal("too little memory is left", refused.(room_bytes: "x"))
    assert_equal("too little memory is left", refused.(room_bytes: nil, limit_bytes: nil))
  end

  # --- the one reference to name ---

  # The name of what retains the last row of a build.
  def named(build, *ways)
    held = HeapBuildWays.call(build, ways)
    held.nearest_holder.of_row(held.table.last)&.to_s
  end

  HeapBuildWays = lambda do |build, ways|
    HeldBuild.new(build).tap { |held| ways.each { |edges| held.way(build.raw[:rows].size - 1, edges, part: 1.0 / ways.size) } }.profile
  end

  # Leaves in things, and as many things of a class as there are samples.
  def leaves(samples_of = {})
    build = Build.new(interval: 4096)
    samples_of.each { |class_name, samples| build.row(["/srv/app/t.rb:1 T#new"], class_name, type: "T_OBJECT", inuse: samples, at_gc: 1) }
    build.row(["/srv/app/a.rb:1 A#b"], "Leaf", inuse: 100, at_gc: 1)
  end

  test "the reference to name is the one to the collection that things are in, not one of their own" do
    assert_equal("Report::BADGES", named(leaves, ["constant Report::BADGES", "element [] of Array"]))
    assert_equal("Report::BADGES", named(leaves("Badge" => 40), ["constant Report::BADGES", "element [] of Array", "ivar @names of Badge", "element [] of Array"]))
    to_block = ["constant Shop", "ivar @notifier of Shop", "ivar @subscribers of Notifier", "value {} value of Hash", "element [] of Array"]
    in_block = ["ivar @block of Timed", "environment closure of Proc", "local local order of block in Shop#run"]
    assert_equal("@subscribers of Notifier", named(leaves("Order" => 40), [*to_block, *in_block, "ivar @items of Order", "element [] of Array"]))
    assert_equal("@subscribers of Notifier", named(leaves, [*to_block, *in_block.drop(1), "element [] of Array"]))
    assert_equal("thread-local :cache", named(leaves, ["root (threads)", "element [] of Array", "thread_local thread-local :cache", "value {} value of Hash"]))
    batch = "local local batch of block in Worker#run @/srv/app/w.rb:7"
    assert_equal("local batch of block in Worker#run /srv/app/w.rb:7", named(leaves, ["root (threads)", batch, "element [] of Array"]))
    assert_equal("BADGES", named(leaves, ["constant BADGES", "value {} value of Hash ~60", "ivar @issues of Repo ~60", "element [] of Array"])) # Repos are too few to be sampled
    assert_equal("@log of Room", named(leaves, ["constant ROOMS", "value {} value of Hash ~5", "ivar @log of Room ~5", "element [] of Array"]))
    assert_equal("@head of Queue", named(leaves, ["constant JOBS", "ivar @head of Queue ×900", "ivar @job of Node"]))
    # A Proc that was composed with the one before: its code is no list that was written.
    assert_equal("@undo of Bookings", named(leaves, ["constant BOOKINGS", "ivar @undo of Bookings", "code code of Proc#>> ×900", "local booking of Bookings#book"]))
    # Enumerator#+ makes a list of its own.
    assert_equal("@all of Log", named(leaves, ["constant LOG", "ivar @all of Log", "data enumerables of Enumerator::Chain ×255", "element [] of Array", "data receiver of Enumerator"]))
    failures = ["ivar @last_error of Poller", "ivar cause of Poller::Failed ×900", "ivar mesg of Poller::Failed"]
    main = ["constant TOPLEVEL_BINDING", "environment locals outside of <main>", "local local poller of <main>"]
    assert_equal("@last_error of Poller", named(leaves("Poller::Failed" => 40), [*main, *failures]))
    assert_equal("POLLER", named(leaves("Poller::Failed" => 40), ["constant POLLER", *failures]))
    assert_equal("local poller of <main>", named(leaves, [*main, "ivar @leaf of Poller"]))
    trace = ["enabled TracePoint of Ractor", "block of TracePoint", "closure of Proc"]
    in_trace = ->(times) { ["root (threads)", *trace.map { |name| "data #{name}#{times}" }, "local local lines of Object#request#{times}", "element [] of Array"] }
    assert_equal("enabled TracePoint of Ractor", named(leaves, in_trace.call(" ~40")))
    assert_equal("local lines of Object#request", named(leaves, in_trace.call("")))
    assert_equal("$last", named(leaves, ["gvar $last", "ivar @parent of Request", "ivar @env of Request"]))
  end

  test "an object whose singleton class has many modules is the one to name" do
    modules = ["class class of Client", "superclass modules included in singleton class of a Client ×900", "method method contract of module (anonymous Module)"]
    assert_equal("CLIENT", named(leaves, ["constant CLIENT", *modules, "local local fields of Contracts.adopt ~34", "element [] of Array"]))
    assert_equal("@client of Gateway", named(leaves, ["constant GATEWAY", "ivar @client of Gateway", *modules]))
  end

  # With 4 samples in 4 collections there are many; with 20 samples in 4 there are 4.
  test "a collection of each sample's own is passed over, however few samples there are" do
    way = ->(count) { ["constant DISPATCH", "ivar @under_way of Dispatch", "key {} key of Hash", "member parcels of Shipment ~#{count}", "element [] of Array"] }
    few = ->(samples) { Build.new(interval: 4096).row(["/srv/app/a.rb:1 A#b"], "Leaf", inuse: samples, at_gc: 1) }
    assert_equal("@under_way of Dispatch", named(few[4], way[4]))
    assert_equal("parcels of Shipment", named(few[20], way[4]))
    assert_equal("parcels of Shipment", named(few[3], way[3]))
  end

  test "a queue is a collection of anything: whose it is says more" do
    assert_equal("@events of Tracker", named(leaves, ["constant TRACKER", "ivar @events of Tracker", "data items of Thread::Queue", "element [] of (hidden T_ARRAY)"]))
    assert_equal("JOBS", named(leaves("Job" => 40), ["constant JOBS", "data items of Thread::SizedQueue", "element [] of (hidden T_ARRAY)", "ivar @rows of Job", "element [] of Array"]))
  end

  test "where one sample alone hangs in each, the collection above that they share is named" do
    orders = ["constant SHOP", "ivar @orders of Shop", "element [] of Array"]
    ways = [[*orders, "ivar @lines of Order", "element [] of Array"], [*orders, "ivar @notes of Order", "element [] of Array"]]
    few = Build.new(interval: 4096).row(["/srv/app/a.rb:1 A#b"], "Leaf", inuse: 2, at_gc: 1)
    assert_equal("@orders of Shop", named(few, *ways))
    assert_equal("@lines of Order", named(leaves, [*ways.first]))
    alone = Build.new(interval: 4096).blocks(["/srv/app/a.rb:1 A#b"], "ruby", 1 << 20, inuse: 1, alloc: 1, at_gc: 1)
    assert_equal("@log of Shop", named(alone, ["constant SHOP", "ivar @log of Shop", "element [] of Array"])) # one large block is no chance
  end

  test "a block of one object that grows is retained by the reference to it; of many objects, by the collection above" do
    log = Build.new(interval: 4096).blocks(["/srv/app/a.rb:1 A#b"], "ruby", 1 << 20, inuse: 1, alloc: 1, at_gc: 1)
    assert_equal("@transcript of Terminal", named(log, ["constant TERMINAL", "ivar @transcript of Terminal"]))
    assert_equal("local job of Pool#post", named(log, ["root (threads)", "data thread of Ractor", "environment locals outside of block in Pool#post", "local local job of Pool#post"]))
    names = Build.new(interval: 4096).blocks(["/srv/app/a.rb:1 A#b"], "ruby", 1000, inuse: 40, alloc: 40, at_gc: 1)
    assert_equal("SHOP", named(names, ["constant SHOP", "element [] of Array", "ivar @name of Order ~40"]))
  end

  test "finalizers, and what C code has registered, are named, not what is below them" do
    assert_equal("(finalizer)",
named(leaves, ["root (finalizers)", "finalizer (finalizer)", "element [] of (hidden T_ARRAY)", "self self of Method#to_proc", "ivar @headers of Connection", "value {} value of Hash"]))
    assert_equal("(objects of C code)", named(leaves, ["root (VM)", "root (objects of C code)", "data earlier objects of (hidden T_DATA) ×3", "element [] of Array"]))
    assert_equal("@all of Log", named(leaves, ["root (VM)", "root (objects of C code)", "ivar @all of Log", "element [] of Array"]))
  end

  test "blocks of at_exit are named where each of many retains what it refers to" do
    assert_equal "(at_exit)", named(leaves("Import" => 20), ["root (at_exit)", "self self of block in Import#initialize", "ivar @rows of Import", "element [] of Array"])
  end

  test "many variables of one class are one holder" do
    build = Build.new(interval: 4096)
    20.times { |line| build.row(["/srv/app/a.rb:1 A#b"], "Leaf", inuse: 10, at_gc: line + 1) }
    ways = ->(kind, name) {
      HeldBuild.new(build).tap { |held|
        20.times { |line|
          held.way(line, ["constant Report", "#{kind} #{name % line}", "element [] of Array"])
        }
      }.profile.then { |one| one.nearest_holder.of_rows(one.table).to_s }
    }
    assert_equal(["20 variables of class Report", "20 constants of Report"], [ways["cvar", "@@result_%d of class Report"], ways["constant", "Report::RESULT_%d"]])
  end

  test "of several ways the one that keeps most counts; what nobody wrote is called so" do
    assert_equal("(machine stack)", named(leaves, ["root (machine stack)"]))
    assert_equal("(VM caches)", named(leaves, ["root (VM caches)", "cache callable method cache of A"]))
    build = leaves("Other" => 10)
    held = HeldBuild.new(build).way(1, ["constant A", "element [] of Array"], part: 0.7).way(1, ["constant B", "element [] of Array"], part: 0.3).profile
    answer = held.nearest_holder.of_rows(held.table)
    assert_equal("A", answer.to_s)
    assert_close(0.7, answer.share, 1e-9)
    assert_equal({named: true, name: "A", kind: "constant", root: "(constants)", share: answer.share, bytes: answer.space}, answer.to_h)
    assert_nil(held.nearest_holder.of_row(held.table.first))
  end

  test "where it is asked for, what nobody knows the holder of has no voice" do
    held = HeldBuild.new(leaves).way(0, ["root (not reached)"], part: 0.6).way(0, ["constant A", "element [] of Array"], part: 0.3).way(0, ["constant B", "element [] of Array"], part: 0.1).profile
    assert_equal("(not reached)", held.nearest_holder.of_rows(held.table).to_s)
    answer = held.nearest_holder.of_rows(held.table, known: true)
    assert_equal("A", answer.to_s)
    assert_close(0.3, answer.share, 1e-9)
    assert_close(0.75, answer.share_of_known, 1e-9)
  end

  test "a growth report names who keeps what came, where the later profile tells" do
    base = ->(**meta) { Build.new(interval: 4096, **meta).row(["/srv/app/a.rb:1 A#b"], "Old", inuse: 100, at_gc: 20) }
    later = base.call(taken_ns: Build::STARTED + 20 * Build::MINUTE, gc: {"count" => 110, "minor" => 85, "major" => 25}).row(["/srv/app/a.rb:1 A#b"], "New", inuse: 90, at_gc: 105)
    earlier = HeapSample::Profile.from_raw(base.call.raw)
    now = HeldBuild.new(later).way(0, ["constant OLD", "element [] of Array"]).way(1, ["constant NEW", "element [] of Array"]).profile
    report = (now - earlier).report
    assert(report.to_s.include?("`NEW` retains 100.0% of it."), report.to_s)
    assert_equal("NEW", report.to_h[:rows].first[:holder][:name])
    without = (HeapSample::Profile.from_raw(later.raw) - earlier).report
    assert(!without.to_s.include?("retains") && !without.to_h[:rows].first.key?(:holder), without.to_s)
  end

  test "permanently blocked threads: where they wait, what for, and what they retain" do
    stuck = [{"name" => "waits for Thread::Mutex", "path" => "/srv/app/lock.rb", "line" => 3, "threads" => 1, "space" => 0},
             {"name" => "waits for Thread::Queue", "path" => "/srv/app/pool.rb", "line" => 7, "threads" => 12, "space" => 246_960}]
    profile = held_build(stuck: stuck).profile
    [profile, again(profile)].each do |one|
      assert_equal([["waits for Thread::Queue", 12, 246_960], ["waits for Thread::Mutex", 1, 0]], one.report.stuck.map { |place| [place.what, place.threads, place.space] })
      text = one.report.text(root: "/srv/app").to_s
      assert(text.include?("Permanently blocked: 13 threads. Nothing else refers to the objects that they wait for."), text)
      assert(text.match?(/12 +241\.2 KiB +waits for Thread::Queue +pool\.rb:7$/) && one.why.text(root: "/srv/app").to_s.include?("pool.rb:7"), text)
    end
    fiber = {"name" => "fiber waits for Thread::Queue", "path" => "/srv/app/task.rb", "line" => 2, "threads" => 1, "space" => 10}
    fibers = held_build(stuck: [*stuck, fiber]).profile.report.text(root: "/srv/app").to_s.gsub("\n", " ")
    assert(fibers.include?("Permanently blocked: 13 threads and 1 fiber. Nothing else refers to the objects that they wait for, but the program can stop the fibers."), fibers)
    assert(!held_build.profile.report.to_s.include?("Permanently blocked") && held_build.profile.report.to_h[:stuck] == [])
    refute(sample_build.profile.report.to_h.key?(:stuck))
    damaged = [{"name" => 3}, 4, {"name" => "x", "path" => "y", "line" => -1, "threads" => 1, "space" => 1}]
    assert_equal([], held_build(stuck: damaged, freed: [{"chain" => []}, "x"]).profile.report.stuck)
  end

  test "what would be freed if one holder were emptied, with its interval; of a part of the profile nobody knows" do
    freed = [{"chain" => ["(constants)", "Session::STORE"], "objects" => 9384, "space" => 6_420_000, "var" => 3.3e12},
             {"chain" => ["(constants)", "Ticket::ALL"], "objects" => 0, "space" => 0, "var" => 0}]
    why = held_build(freed: freed).profile.why
    assert_equal([["Session::STORE", 6_420_000], ["Ticket::ALL", 0]], why.freed.map { |one| [one.names.last, one.estimate.space] })
    text = why.to_s
    assert(text.include?("Memory that would be freed by emptying one holder:") && text.match?(/6\.1 MiB +\S.*MiB +Session::STORE$/), text)
    assert_equal(6_420_000, why.to_h[:freed].first[:bytes])
    assert_equal([], held_build(freed: freed).profile.filter(class: "Ticket").why.freed)
    freed << {"chain" => ["(threads)", "local rows of Import#run"], "path" => "/srv/app/import.rb", "line" => 31, "objects" => 1, "space" => 40, "var" => 900}
    why = held_build(freed: freed).profile.why
    assert(why.to_s.match?(/Session::STORE +-$/) && why.to_s.match?(/local rows of Import#run +\S*app\/import\.rb:31$/), why.to_s)
    assert_equal([nil, nil, 31], why.to_h[:freed].map { |one| one[:line] })
  end

  test "the short form leaves out what only repeats: a class before its variable, the thread before its local" do
    build = Build.new(interval: 4096)
    2.times { |line| build.row(["/srv/app/a.rb:#{line + 1} A#b"], "Leaf", inuse: 50 + line, at_gc: 1) }
    held = HeldBuild.new(build).way(0, ["constant Cart", "cvar @@every of class Cart", "value {} value of Hash", "ivar @backend of Concurrent::Map"])
                    .way(1, ["root (threads)", "root (threads)", "data thread of Ractor", "data fiber of Thread", "fiber_local :cache of a fiber"])
    assert_equal(["(threads)", "└ :cache of a fiber → 5,248 Leaf", "(constants)", "└ @@every of class Cart → 5,145 Leaf"], ways(held.profile.why))
    full = ways(held.profile.why(full: true))
    assert(full.include?("└ Cart → @@every of class Cart → {} value of Hash → @backend of Concurrent::Map → 5,145 Leaf"), full.join("\n"))
  end

  test "code that an object has for itself is told below it, and that memory is shared is told" do
    build = Build.new(interval: 4096)
    %w[Proc Class String].each_with_index { |name, line| build.row(["/srv/app/a.rb:#{line + 1} A#b"], name, inuse: 50 + line, at_gc: 1) }
    open = ["constant ROWS", "element [] of Array", "class class of OpenStruct"]
    held = HeldBuild.new(build).way(0, [*open, "method method name of singleton class of a OpenStruct", "block block of method name"]).way(1, open)
                    .way(2, ["constant TOKENS", "element [] of Array", "shared shared memory of String"])
    assert_equal(["(constants)", "├ ROWS → class of OpenStruct", "│ ├ 5,248 Class", "│ └ 5,145 Proc", "└ TOKENS → shared memory of String → 5,351 String"], ways(held.profile.why))
  end

  test "branches that differ in a class or in the name of a method alone are one, but for who has a tenth of all" do
    build = Build.new(interval: 4096)
    40.times { |line| build.row(["/srv/app/a.rb:1 A#b"], "Leaf", inuse: 10, at_gc: line + 1) }
    2.times { |line| build.row(["/srv/app/b.rb:#{line} A#b"], "Other", inuse: 100, at_gc: 1) }
    held = HeldBuild.new(build)
    20.times { |line| held.way(line, ["constant M::K#{line}", "ivar @cache of class M::K#{line}", "value {} value of Hash"]) }
    20.times { |line| held.way(20 + line, ["constant Api", "method method e#{line} of class Api", "block block of method e#{line}", "local local schema of Api.endpoint", "element [] of Array"]) }
    held.way(40, ["constant M::Large", "ivar @cache of class M::Large"]).way(41, ["constant M::K1", "ivar @other of class M::K1"])
    lines = ways(held.profile.why)
    assert_equal(["(constants)", "├ @cache of 20 classes → 20,580 Leaf", "├ 20 methods of class Api", "│ └ block of 20 methods → local schema of Api.endpoint → 20,580 Leaf",
                  "├ @cache of class M::Large → 10,290 Other", "└ @other of class M::K1 → 10,290 Other"], lines)
    assert(ways(held.profile.why(full: true)).any? { |line| line.include?("@cache of class M::K3") })
    nearest = held.profile.nearest_holder
    answer = nearest.of_rows(held.profile.table.first(20))
    assert_equal("@cache of 20 classes", answer.to_s)
    assert_close(1.0, answer.share, 1e-9)
    assert_equal("local schema of Api.endpoint", nearest.of_rows(held.profile.table[20, 20]).to_s)
    larger = HeldBuild.new(leaves("Badge" => 500)).tap { |build| 20.times { |line| build.way(1, ["constant M::K#{line}", "ivar @cache of class M::K#{line}", "value {} value of Hash"], part: 0.05) } }
                      .way(0, ["constant LARGE", "element [] of Array"]).profile
    assert_equal("LARGE", larger.nearest_holder.of_rows(larger.table).to_s)
  end

  test "in the short form classes, methods and compiled code are one; what a method's block refers to is not" do
    build = Build.new(interval: 4096)
    ["(imemo:iseq)", "String", "Class", "Leaf", "Class"].each_with_index { |name, line| build.row(["/srv/app/a.rb:#{line + 1} A#b"], name, inuse: 50 + line, at_gc: 1) }
    held = HeldBuild.new(build).way(0, ["constant A", "method A#b", "code block in A#b"]).way(1, ["constant B", "class class of B", "method B.c", "code literal of B.c"]).way(2, ["constant C"])
                    .way(3, ["constant D", "method D#e", "environment closure of Proc", "local local list of block in <class:D>", "element [] of Array"]).way(4, ["ivar @kinds of Registry"])
    assert_equal(["(constants)", "├ (loaded code)", "│ ├ 5,351 Class", "│ ├ 5,248 String", "│ └ 5,145 (imemo:iseq)", "├ @kinds of Registry → 5,557 Class",
                  "└ D → D#e → local list of block in <class:D> → 5,454 Leaf"], ways(held.profile.why))
    assert(ways(held.profile.why(full: true)).any? { |line| line.include?("A → A#b → block in A#b") })
  end
end
