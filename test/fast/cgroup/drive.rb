# frozen_string_literal: true

# See run. Usage: ruby drive.rb OUT

require "fileutils"
require "json"
require_relative "../../server"
require_relative "group"

OUT = ARGV.fetch(0)
PROFILES = "#{OUT}/profiles"
LIMIT = 400 << 20
SHARE = 80

# What is there when the kernel kills the first process: the processes, and the profiles.
def outgrow(group)
  FileUtils.rm_rf(PROFILES)
  FileUtils.mkdir_p(PROFILES)
  env = { "RUBY_HEAP_SAMPLE" => "every=1,keep=2,at-rss=#{SHARE}%,output=#{PROFILES}/%p-%t.pb.gz" }
  puma(File.join(__dir__, "puma.rb"), env, log: "#{OUT}/puma.log", start: group.method(:spawn), signal: :KILL) do
    pids = waits_for(60) { group.pids.then { |all| all if all.size == 3 } }
    waits_for(300) { group.kills > 0 }
    return [pids, Dir.children(PROFILES)]
  end
end

def grows?(group) = group.key&.path&.end_with?("cgroup/puma.rb") && group.inuse.space > 50 << 20

name = "each process of a Puma cluster has written its at-rss profile when the kernel kills the first"
why = Group.with(LIMIT) do |group|
  pids = files = nil
  test(name) do
    pids, files = outgrow(group)
    equal(pids.sort, files.grep(/-at-rss/).map(&:to_i).sort)
  end
  test("keep= left them alone, and kept its own") do
    kept = files.grep_v(/-at-rss/).group_by(&:to_i)
    equal([true], kept.values.map { |own| own.size.between?(1, 2) }.uniq)
    # Puma may have begun another one in place of the killed.
    equal([], pids - kept.keys)
  end
  profiles = files.grep(/-at-rss/).map { |file| GC::SampleProfile.load("#{PROFILES}/#{file}") }
  test("none of them was near the limit by itself") do
    equal([], profiles.map { |profile| profile.info.account.rss }.select { |rss| rss > LIMIT * SHARE / 100 })
  end
  test("the two that grow show their growth") do
    equal(2, profiles.count { |profile| profile.groups(:line).any? { |group| grows?(group) } })
  end
  test("they did not all write at once") do
    times = Dir["#{PROFILES}/*-at-rss*"].map { |file| File.mtime(file).to_f }.sort
    assert(times.last - times.first > 0.1, times.inspect)
  end
end
Tap.skip(name, why) if why

# What the profile of a process in the group says of its walk.
def walk(group, file, *arguments)
  reader, writer = IO.pipe
  pid = group.spawn({}, RbConfig.ruby, "--disable=gems", "--heap-sample=output=none", File.join(__dir__, file), *arguments, out: writer)
  writer.close
  said = reader.read
  equal(0, Process.wait2(pid).last.exitstatus)
  JSON.parse(said)
end

name = "a walk that somebody asks for is refused where the group has less left than the walk may need, and the profile says how much"
why = Group.with(LIMIT) do |group|
  test(name) do
    refused = walk(group, "walk.rb", (LIMIT - (20 << 20)).to_s)
    assert(refused["refused"].to_s.start_with?("too little memory is left"), refused.inspect)
    assert(refused["room_bytes"].between?(10 << 20, 30 << 20), refused.inspect)
    assert(refused["demand_bytes"].between?(100 << 20, 200 << 20), refused.inspect)
    assert(refused["estimate_bytes"].between?(LIMIT - (20 << 20), LIMIT + (60 << 20)), refused.inspect)
    equal([LIMIT, group.path], refused.values_at("limit_bytes", "cgroup"))
  end
  test("with more room, but not for all that the walk can cost, it is made, and no process is killed") do
    made = walk(group, "walk.rb", (LIMIT - (150 << 20)).to_s)
    equal([nil, true, 0], [made["refused"], made["objects"].to_i > 1_000_000, group.kills])
  end
  test("where the program writes to all of its memory meanwhile, the child ends before the kernel kills") do
    first, later = walk(group, "walk_beside_writes.rb", OUT)
    equal("the walk was stopped before memory ran out", first["refused"].to_s[/[^;]*/])
    assert(first["room_bytes"] < 100 << 20, first.inspect)
    equal(0, group.kills)
    equal("the last walk ran out of memory, so automatic walks are off", later["refused"].to_s[/[^;]*/])
  end
end
Tap.skip(name, why) if why

# Profiles that a process writes by itself, each with a walk, while it writes to all of its memory.
name = "a process that writes to all of its memory is not brought to the limit of its group by walks that begin by themselves"
why = Group.with(360 << 20) do |group|
  test(name) do
    FileUtils.rm_rf(PROFILES)
    FileUtils.mkdir_p(PROFILES)
    settings = "every=1,diagnose=50%,quiet=on,output=#{PROFILES}/"
    pid = group.spawn({}, RbConfig.ruby, "--disable=gems", "--heap-sample=#{settings}", File.join(__dir__, "writes.rb"))
    equal(0, Process.wait2(pid).last.exitstatus)
    equal(0, group.kills)
    refused = Dir["#{PROFILES}/*"].filter_map { |file| GC::SampleProfile.load(file).info.walk&.refused }
    assert(refused.grep(/too little memory is left.* of 360.0 MiB are left in cgroup #{group.path}/).any?, refused.inspect)
    equal([], refused.grep(/ended|killed/))
  end
end
Tap.skip(name, why) if why
Tap.finish
