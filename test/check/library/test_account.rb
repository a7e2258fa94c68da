# frozen_string_literal: true

require_relative "../../testing"
require_relative "builds"

class AccountTest < Test
  include Builds
  include HeapSample

  MIB = 1024 * 1024

  # An account of so many MiB, 100 at first; +fields+ take the place of others.
  def account(fields = {}, **mib)
    bytes = {slots_live: 40, slots_free: 5, malloc_live: 30, malloc_waste: 10, malloc_metadata: 1, stacks: 1,
             code_and_files: 12, jit: 0, sampler: 0, unattributed: 1}.merge(mib).transform_values { |size| size * MIB }
    {taken_ns: 1, cost_ns: 1_300_000, rss: bytes.values.sum, **bytes, pss: 90 * MIB, allocator: "jemalloc 5.3.0",
     jemalloc: {"allocated" => 31 * MIB, "active" => 33 * MIB, "resident" => 41 * MIB, "dirty" => 3 * MIB,
                "retained" => 2 * MIB, "metadata" => 4 * MIB}}.merge(fields).transform_keys(&:to_s)
  end

  test "an account as a table: parts that are nothing are left out" do
    assert_equal(<<~TEXT.lines(chomp: true), AccountText.new(Account.of(account), Layout.new).lines)
      Memory of the process: RSS 100.0 MiB
         bytes  share  where
      40.0 MiB  40.0%  live slots
       5.0 MiB   5.0%  free slots in heap pages, page headers
      30.0 MiB  30.0%  malloc: live
      10.0 MiB  10.0%  malloc: waste (fragmentation, caches)
       1.0 MiB   1.0%  malloc: its own data
       1.0 MiB   1.0%  stacks of threads and fibers
      12.0 MiB  12.0%  code and mapped files
       1.0 MiB   1.0%  unattributed
      Other figures: PSS 90.0 MiB; jemalloc 5.3.0, virtual: 31.0 MiB allocated, 33.0 MiB active, 41.0 MiB resident, 3.0 MiB
      dirty, 2.0 MiB retained, 4.0 MiB metadata (read in 1.3 ms)
    TEXT
  end

  test "with an earlier one it shows what changed" do
    lines = AccountText.new(Account.of(account(slots_live: 60)), Layout.new, earlier: Account.of(account), since: "since then").lines
    assert_equal("Memory of the process: RSS 120.0 MiB, +20.0 MiB since then", lines[0])
    assert_equal("60.0 MiB  50.0%  +20.0 MiB  live slots", lines[2])
    assert_equal(" 5.0 MiB   4.2%        0 B  free slots in heap pages, page headers", lines[3])
  end

  test "a malloc that says nothing leaves its parts out" do
    silent = account({malloc_live: nil, malloc_waste: nil, malloc_metadata: nil, jemalloc: nil, allocator: "malloc"})
    lines = AccountText.new(Account.of(silent), Layout.new).lines
    assert_equal([], lines.grep(/malloc:/))
    assert_equal("Other figures: PSS 90.0 MiB; malloc (read in 1.3 ms)", lines.last)
  end

  test "without /proc it says so and shows what is known" do
    blind = account({rss: nil, pss: nil, stacks: nil, code_and_files: nil, jit: nil, unattributed: nil})
    lines = AccountText.new(Account.of(blind), Layout.new, earlier: Account.of(account)).lines
    assert(lines[0].include?("/proc could not be read"), lines[0])
    assert_equal("40.0 MiB     0 B  live slots", lines[2])
    assert_equal([], lines.grep(/stacks|share/))
  end

  test "nonsense is not known" do
    assert_nil(Account.of([1]))
    assert_nil(Account.of(nil))
    odd = Account.of("rss" => "a", "slots_live" => -1, "jemalloc" => {"dirty" => "x"})
    assert_equal([nil, {}], [odd.rss, odd.parts])
    assert(AccountText.new(odd, Layout.new).lines.size == 3)
  end

  test "a report has the account and what grew in it, after its tables" do
    build = sample_build("account" => account(slots_live: 90), "account_at_start" => account)
    sections = build.profile.report.text(root: "/srv/app").to_s.split("\n\n")
    assert(sections[-2].start_with?("Memory of the process: RSS 150.0 MiB, +50.0 MiB since sampling started\n"), sections[-2])
    assert_equal("Growing in Ruby objects (+50.0 MiB, 100% of what grew): RSS +50.0 MiB since sampling started.",
                 sections[-2].lines.last)
    assert(sections[-1].start_with?("The largest: "))
  end

  test "a block's report has the account alone, an old file's none" do
    text = sample_build("account" => account, "account_at_start" => nil).profile.report.to_s
    assert(text.include?("Memory of the process: RSS 100.0 MiB\n"), text)
    refute(text.match?(/rowing/), text)
    refute(sample_build.profile.report.to_s.include?("Memory of the process"))
  end

  test "a difference compares its two accounts" do
    later = sample_build("account" => account(malloc_live: 70), "taken_ns" => Build::STARTED + 20 * Build::MINUTE)
    text = (later.profile - sample_build("account" => account).profile).report.to_s
    assert(text.include?("RSS 140.0 MiB, +40.0 MiB between the two profiles\n"), text)
    assert(text.include?("Growing in malloc (+40.0 MiB, 100% of what grew): RSS +40.0 MiB between the two profiles. " \
                         "Sample with malloc=on to see\nwhich library allocated it.\n"), text)
  end
end
