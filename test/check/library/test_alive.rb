# frozen_string_literal: true

require_relative "../../testing"
require_relative "builds"

class AliveTest < Test
  include Builds
  include HeapSample

  def made(path, line, count, **states)
    {"path" => path, "line" => line, "count" => count, **states.transform_keys(&:to_s), "stacks" => count * 16_384}
  end

  # Threads that sleep, by line of the pool; and the main thread.
  def alive(lines, fibers: [])
    threads = [*lines.map { |line, count| made("/srv/app/pool.rb", line, count, sleeping: count) }, made("(main)", nil, 1, running: 1)]
    {"threads" => {"count" => threads.sum { |one| one["count"] }, "sleeping" => lines.values.sum, "running" => 1, "ended" => 0,
                   "stacks" => 9_000_000, "made" => threads},
     "fibers" => {"count" => fibers.sum { |one| one["count"] }, "suspended" => fibers.sum { |one| one["count"] }, "ended" => 3,
                  "stacks" => nil, "made" => fibers}}
  end

  def account(threads) = {"taken_ns" => 1, "rss" => 100, "slots_live" => 100, "threads" => threads, "fibers" => 0}

  test "how many threads and fibers there are, what they do, and where they were made" do
    all = Alive.of(alive({9 => 2, 30 => 1941}))
    assert_equal([1944, {"running" => 1, "sleeping" => 1943}, 0, 9_000_000], [all.threads.count, all.threads.states, all.threads.ended, all.threads.stacks])
    assert_equal([[Place.new("/srv/app/pool.rb", 9, nil), 2], [Place.new("/srv/app/pool.rb", 30, nil), 1941], [Place.new("(main)", nil, nil), 1]],
                 all.threads.made.map { |one| [one.place, one.count] })
    assert_equal([0, 3, nil], [all.fibers.count, all.fibers.ended, all.fibers.stacks])
    assert_equal({path: "/srv/app/pool.rb", line: 9, count: 2, sleeping: 2, ended: 0, stacks_bytes: 32_768}, all.to_h[:threads][:made].first)
  end

  test "a report has them below the account" do
    build = sample_build("account" => account(1944), "account_at_start" => account(4), "alive" => alive({9 => 2, 30 => 1941}))
    assert_equal(<<~TEXT, build.profile.report.text(root: "/srv/app").to_s.split("\n\n")[-2] + "\n")
      Threads: 4 → 1,944 since sampling started; 1,943 sleeping, 1 running; 8.6 MiB of stack memory resident
      count  what       stacks  state     created at
      1,941  threads  30.3 MiB  sleeping  pool.rb:30
          2  threads  32.0 KiB  sleeping  pool.rb:9
          1  thread   16.0 KiB  running   (main)
    TEXT
  end

  test "the main thread alone is not worth a line" do
    text = sample_build("account" => account(1), "account_at_start" => account(1), "alive" => alive({})).profile.report.to_s
    refute(text.include?("Threads:"), text)
  end

  test "fibers likewise; what has ended is counted apart" do
    fibers = [made("/srv/app/f.rb", 3, 5000, suspended: 4000, created: 1000)]
    build = sample_build("account" => account(1), "alive" => alive({}, fibers: fibers))
    section = build.profile.report.text(root: "/srv/app").to_s.split("\n\n")[-2]
    assert_equal("Fibers: 5,000; 5,000 suspended, 3 more ended, but still referenced", section.lines(chomp: true).first)
    assert(section.match?(/^5,000  fibers  78.1 MiB  80.0% suspended  f.rb:3$/), section)
  end

  test "a difference says of which there are more, by the line where they were made" do
    earlier = sample_build("alive" => alive({9 => 3}))
    later = sample_build("alive" => alive({9 => 1, 30 => 1941}), "taken_ns" => Build::STARTED + 20 * Build::MINUTE)
    report = (later.profile - earlier.profile).report
    text = report.text(root: "/srv/app").to_s
    assert(text.include?("Threads: 4 → 1,943; "), text)
    assert(text.include?("+1,941 threads created at pool.rb:30 (0 → 1,941)\n-2 threads created at pool.rb:9 (3 → 1)\n"), text)
    assert(text.end_with?("Nothing grew by more than sampling noise, except the number of threads.\n"), text)
    assert_equal([4, 1943], [report.to_h[:alive_earlier], report.to_h[:alive]].map { |all| all[:threads][:count] })
  end

  test "nonsense is not known" do
    assert_nil(Alive.of([1]))
    odd = Alive.of("threads" => {"count" => -1, "made" => [1, {"path" => 2}, {"path" => "x", "line" => "y", "stacks" => -3}]}, "fibers" => 3)
    assert_equal([0, {}, nil, 1, nil], [odd.threads.count, odd.threads.states, odd.threads.stacks, odd.threads.made.size, odd.threads.made.first.place.line])
    assert_equal([0, []], [odd.fibers.count, odd.fibers.made])
    assert_equal([], AliveText.new(odd, Layout.new).lines)
  end

  test "a path cannot move the cursor" do
    odd = Alive.of("threads" => {"count" => 2, "made" => [made("\e[31m", 1, 2)]})
    assert(AliveText.new(odd, Layout.new).lines.none? { |line| line.include?("\e") })
  end
end
