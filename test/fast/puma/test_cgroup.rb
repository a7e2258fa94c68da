# frozen_string_literal: true

# A Puma cluster that outgrows the memory limit of its cgroup: each process writes its at-rss profile before the kernel kills
# the first, though none of them comes near the limit by itself. And heap walks: they are refused where there is no room, and
# end before the kernel kills. In cgroups of this test's own.

require_relative "cluster"
require_relative "group"
require "fileutils"
require "json"

class CgroupTest < PumaTest
  LIMIT = 400 << 20
  SHARE = 80
  PROFILES = "#{OUT}/cgroup"
  NO_GROUP = Group.missing

  def self.test(name, missing: NO_GROUP, &) = super

  def empty_folder
    FileUtils.rm_rf(PROFILES)
    FileUtils.mkdir_p(PROFILES)
  end

  # When the kernel kills the first process: the processes, the names of their profiles, the at-rss profiles among these, and
  # when these were written.
  Outgrown = Struct.new(:pids, :names, :profiles, :times) do
    def at_rss = names.grep(/-at-rss/)
    def others = names - at_rss
  end

  shared(:outgrown) { |share| share.call(outgrow) }

  def outgrow
    empty_folder
    env = {"RUBY_HEAP_SAMPLE" => "every=1,keep=2,at-rss=#{SHARE}%,output=#{PROFILES}/%p-%t.pb.gz"}
    Group.with(LIMIT) do |group|
      cluster("cgroup", env, start: group.method(:spawn), signal: :KILL) do
        pids = waits_for(60) { group.pids.then { |all| all if all.size == 3 } }
        waits_for(300) { group.kills > 0 }
        names = Dir.children(PROFILES)
        paths = names.grep(/-at-rss/).map { |name| "#{PROFILES}/#{name}" }
        return Outgrown.new(pids, names, paths.map { |path| HeapSample::Profile.load(path) }, paths.map { |path| File.mtime(path).to_f }.sort)
      end
    end
  end

  test "each process of a Puma cluster has written its at-rss profile when the kernel kills the first" do
    assert_equal outgrown.pids.sort, outgrown.at_rss.map(&:to_i).sort
  end

  test "keep= does not count the at-rss profiles" do
    kept = outgrown.others.group_by(&:to_i)
    assert_equal [true], kept.values.map { |own| own.size.between?(1, 2) }.uniq
    # Puma may have begun another one in place of the killed.
    assert_empty outgrown.pids - kept.keys
  end

  test "none of the processes was near the limit by itself" do
    assert_empty(outgrown.profiles.map { |profile| profile.info.account.rss }.select { |rss| rss > LIMIT * SHARE / 100 })
  end

  test "the two that grow show their growth" do
    grows = ->(group) { group.key&.path&.end_with?("cgroup_puma.rb") && group.inuse.space > 50 << 20 }
    assert_equal 2, outgrown.profiles.count { |profile| profile.groups(:line).any?(&grows) }
  end

  test "the processes did not write their at-rss profiles all at once" do
    assert_operator outgrown.times.last - outgrown.times.first, :>, 0.1
  end

  # What the profile of a process in the group has of its walk.
  def walk(group, file, *arguments)
    said = IO.pipe do |reader, writer|
      pid = group.spawn({}, RbConfig.ruby, "--disable=gems", "--heap-sample=output=none", File.join(__dir__, file), *arguments, out: writer)
      writer.close
      reader.read.tap { assert_equal 0, Process.wait2(pid).last.exitstatus }
    end
    JSON.parse(said)
  end

  test "a walk is refused where the group has less left than the walk may need, and the profile has the figures" do
    Group.with(LIMIT) do |group|
      refused = walk(group, "walk.rb", (LIMIT - (20 << 20)).to_s)
      assert_operator refused["refused"].to_s, :start_with?, "too little memory is left"
      assert_includes 10 << 20..30 << 20, refused["room_bytes"]
      assert_includes 100 << 20..200 << 20, refused["demand_bytes"]
      assert_includes LIMIT - (20 << 20)..LIMIT + (60 << 20), refused["estimate_bytes"]
      assert_equal [LIMIT, group.path], refused.values_at("limit_bytes", "cgroup")
    end
  end

  test "with more room, but not for all that the walk can cost, it is made, and no process is killed" do
    Group.with(LIMIT) do |group|
      made = walk(group, "walk.rb", (LIMIT - (150 << 20)).to_s)
      assert_equal [nil, true, 0], [made["refused"], made["objects"].to_i > 1_000_000, group.kills]
    end
  end

  # A mark function that hangs, for a walk that lasts as long as the test needs it.
  def build_extension
    FileUtils.mkdir_p("#{OUT}/extension")
    said, status = Open3.capture2e("sh", "-c", "\"$0\" --disable=gems -rmkmf \"$1\" && make", RbConfig.ruby, "#{TOP}/src/ext/-test-/heap_sampler_holders/extconf.rb", chdir: "#{OUT}/extension")
    assert(status.success?, said)
  end

  test "where the program writes to all of its memory during a walk, the walk ends before the kernel kills" do
    build_extension
    Group.with(LIMIT) do |group|
      first, later = walk(group, "walk_beside_writes.rb", OUT)
      assert_equal "the walk was stopped before memory ran out", first["refused"].to_s[/[^;]*/]
      assert_operator first["room_bytes"], :<, 100 << 20
      assert_equal 0, group.kills
      assert_equal "the last walk ran out of memory, so automatic walks are off", later["refused"].to_s[/[^;]*/]
    end
  end

  test "a walk begins by itself when two fifths of the limit are used, once" do
    Group.with(440 << 20) do |group|
      empty_folder
      settings = "every=1,diagnose=50%,interval=64k,quiet=on,output=#{PROFILES}/%t-%p.pb.gz"
      input, line = IO.pipe
      pid = group.spawn({}, RbConfig.ruby, "-W0", "--heap-sample=#{settings}", File.join(__dir__, "near_limit.rb"), in: input)
      walks = -> { Dir["#{PROFILES}/*"].filter_map { |file| HeapSample::Profile.load(file).info.walk }.count { |walk| !walk.refused } }
      later = -> { Dir.children(PROFILES).size.then { |size| waits_for(120) { Dir.children(PROFILES).size >= size + 4 } } }
      waits_for(120) { walks.call == 1 }
      later.call
      assert_equal 1, walks.call
      line.puts
      waits_for(120) { walks.call == 2 }
      later.call
      line.close
      Process.wait(pid)
      assert_equal 2, walks.call
    end
  end

  # Profiles that a process writes by itself, each with a walk, while it writes to all of its memory.
  test "a process that writes to all of its memory is not brought to the limit of its group by walks that begin by themselves" do
    Group.with(360 << 20) do |group|
      empty_folder
      settings = "every=1,diagnose=50%,quiet=on,output=#{PROFILES}/"
      pid = group.spawn({}, RbConfig.ruby, "--disable=gems", "--heap-sample=#{settings}", File.join(__dir__, "writes.rb"))
      assert_equal 0, Process.wait2(pid).last.exitstatus
      assert_equal 0, group.kills
      refused = Dir["#{PROFILES}/*"].filter_map { |file| HeapSample::Profile.load(file).info.walk&.refused }
      assert_empty refused.grep(/ended|killed/)
      # On a busy machine the stop is the first reason, and may be the only one.
      next note("the machine is too busy") if refused.any? && refused.all?(/more than 50 ms/)

      assert(refused.grep(/too little memory is left.* of 360.0 MiB are left in cgroup #{group.path}/).any?, refused.inspect)
    end
  end
end
