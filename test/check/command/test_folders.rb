# frozen_string_literal: true

# A folder with profiles of several processes, as a server leaves it, for people and for scripts: which process a command
# takes, what it says about damaged files, and its exit status.

require_relative "../../testing"
require_relative "command_helper"
require_relative "../library/counted_series"

class FoldersTest < Test
  include CommandHelper
  include CountedSeries

  PROFILES = 24
  HOUR = 60 * Build::MINUTE

  # Profiles of a worker that leaks, or does not; the last ones are later than the worker's: the parent's.
  def cluster(leaks: true)
    worker = {pid: 11, title: "puma: cluster worker 0: 10 [shop]"}
    (leaks ? leaking(PROFILES, **worker) : level(PROFILES, **worker)).each_with_index do |profile, index|
      save(format("worker-%02d.pb.gz", index), HeapSample::Formats.encode(profile, "pb.gz"))
    end
    PROFILES.times { |index| save(format("z-parent-%02d.pb.gz", index), PprofEncoder.gzip(parent(index).raw)) }
  end

  def save(name, bytes) = write(File.join(dir, name), bytes)

  def parent(index)
    account = {"rss" => 60 << 20, "slots_live" => 20 << 20, "malloc_live" => 10 << 20}
    Build.new("process_id" => 10, "process_start" => "parent", "title" => "puma 6.4.2 (tcp://0.0.0.0:3000) [shop]", "taken_ns" => Build::STARTED + 3 * HOUR + index * Build::MINUTE,
              "account" => account, "account_at_start" => account).row(["/srv/app/config.rb:3 Config.load"], "String", inuse: 20, at_gc: 5)
  end

  test "a command that reads one profile takes the process that the diagnosis names first, and prints which" do
    cluster
    assert(JSON.parse(printed(dir, "--json")).fetch("processes").first.fetch("pids") == [11])
    last = File.join(dir, format("worker-%02d.pb.gz", PROFILES - 1))
    said = "heapsample: #{last}: the last of #{PROFILES} profiles of process 11 (puma: cluster worker 0: 10 [shop]), first in the diagnosis of 2 processes in #{dir}\n"
    [%w[top], %w[tree], %w[diagnose --snapshot], %w[convert --format folded -o -]].each do |command, *options|
      result = heapsample(command, *options, dir)
      assert_equal([0, said], [result.status, result.err])
      assert_equal(printed(command, *options, last), result.out)
    end
    line = heapsample("line", "body.rb:5", dir)
    assert(line.out.include?("process 11, #{PROFILES} profiles") && line.err.match?(/\Aheapsample: process 11, .*; 1 more in #{dir}\n\z/), line.out + line.err)
  end

  test "why takes a heap walk of that process, and of another one only if it has none" do
    cluster
    walk = {"objects" => 5, "edges" => 5, "slots" => 5}
    save("walk.pb.gz", PprofEncoder.gzip(parent(PROFILES).tap { |build| build.meta["kept"] = walk }.raw))
    assert(heapsample("why", dir).err.include?("walk.pb.gz: the last of 25 profiles of process 10 (puma 6.4.2 (tcp://0.0.0.0:3000) [shop]), one of 2 processes in #{dir}"))
    third = HeapSample::Profile.load(File.join(dir, "worker-02.pb.gz"))
    third.meta["kept"] = walk
    save("worker-02.pb.gz", HeapSample::Formats.encode(third, "pb.gz"))
    assert(heapsample("why", dir).err.include?("worker-02.pb.gz: profile 3 of 24 of process 11 "), heapsample("why", dir).err)
  end

  test "profiles of other programs name no process: the last file counts" do
    2.times { |index| save("go-#{index}.pb.gz", PprofEncoder.gzip(parent(index).raw, meta: nil)) && File.utime(0, index, File.join(dir, "go-#{index}.pb.gz")) }
    result = heapsample("top", dir)
    assert(result.status.zero? && result.err.include?("go-1.pb.gz: the last of 2 profiles in #{dir}"), result.err)
  end

  test "each command that reads a folder names the damaged files, five at most, and counts the others" do
    cluster
    7.times { |index| save("bad-#{index}.pb.gz", File.binread(File.join(dir, "worker-00.pb.gz"))[0, 300 + index]) }
    elsewhere = File.join(dir, "elsewhere").tap { |name| Dir.mkdir(name) }
    [["diagnose", dir], ["diagnose", dir, "--json"], ["top", dir], ["line", "body.rb:5", dir], ["merge", dir, "-o", File.join(elsewhere, "all.pb")],
     *([["page", dir, "-o", File.join(dir, "x.html")]] unless NO_PAGE)].each do |arguments|
      result = heapsample(*arguments, **(arguments.first == "page" ? {env: with_view(dir)} : {}))
      named = result.err.scan(%r{^heapsample: #{dir}/(bad-\d)\.pb\.gz: not a readable heap profile: the gzip data ends too early \(cut off\?\)})
      assert_equal([0, 5, true], [result.status, named.uniq.size, result.err.include?("heapsample: 2 more files are left out\n")], "#{arguments}: #{result.err}")
    end
    assert_equal(6, JSON.parse(heapsample("diagnose", dir, "--json").out).fetch("warnings").size)
    Dir.children(dir).grep_v(/bad/).each { |name| FileUtils.rm_rf(File.join(dir, name)) }
    fails(1, /bad-0\.pb\.gz: not a readable heap profile/, "diagnose", dir)
  end

  test "--fail-on: the exit status says whether a process leaks" do
    cluster
    assert_equal([0, ""], heapsample(dir).then { |result| [result.status, result.err] })
    result = heapsample(dir, "--fail-on", "leak")
    assert_equal([3, true], [result.status, result.err.match?(/\Aheapsample: process 11: (confirmed|likely) \(--fail-on leak\)\n\z/)], result.err)
    assert_equal(printed(dir), result.out)
    assert_equal(0, heapsample(dir, "--fail-on", "grows").status)
    assert_equal([3, true], heapsample(dir, "--fail-on", "grows,leak", "--json").then { |json| [json.status, JSON.parse(json.out).key?("processes")] })
    fails(2, /--fail-on leaks: it must be one of leak, confirmed, grows, unknown; did you mean leak\?/, dir, "--fail-on", "leaks")
    fails(2, /--fail-on is for a diagnosis; name a folder or several profiles/, File.join(dir, "worker-00.pb.gz"), "--fail-on", "leak")
  end

  test "--fail-on: healthy processes, and processes with too few profiles" do
    cluster(leaks: false)
    assert_equal(0, heapsample(dir, "--fail-on", "leak").status)
    two = %w[worker-00 worker-01].map { |name| File.join(dir, "#{name}.pb.gz") }
    assert_equal([3, "heapsample: process 11: unknown (--fail-on unknown)\n"], heapsample(*two, "--fail-on", "unknown").then { |result| [result.status, result.err] })
    assert_equal(0, heapsample(*two, "--fail-on", "leak,grows").status)
  end
end
