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

# What a process that has filled so many bytes of its group is told of the walk.
def walk(group, bytes)
  reader, writer = IO.pipe
  pid = group.spawn({}, RbConfig.ruby, "--disable=gems", "--heap-sample=output=none", File.join(__dir__, "walk.rb"), bytes.to_s, out: writer)
  writer.close
  said = reader.read
  equal(0, Process.wait2(pid).last.exitstatus)
  JSON.parse(said)
end

name = "who keeps it is not asked where the group has less than twice what the walk may take left, and the profile says so"
why = Group.with(LIMIT) do |group|
  test(name) do
    refused = walk(group, LIMIT - (20 << 20))
    assert(refused["refused"].to_s.start_with?("the walk may need half of the memory that is left"), refused.inspect)
    assert(refused["estimate_bytes"].between?(21 << 20, 40 << 20), refused.inspect)
  end
  test("with more room it is asked, and nobody is killed") do
    made = walk(group, LIMIT - (150 << 20))
    equal([nil, true, 0], [made["refused"], made["objects"].to_i > 1_000_000, group.kills])
  end
end
Tap.skip(name, why) if why
Tap.finish
