# frozen_string_literal: true

require_relative "../../testing"
require_relative "builds"

class AccountGrowthTest < Test
  include Builds
  include HeapSample

  ACCOUNT_MIB = 1024 * 1024
  SINCE = "since sampling started."

  # An account of so many MiB; 100 at first.
  def mib(**parts)
    bytes = {slots_live: 40, slots_free: 5, malloc_live: 30, malloc_waste: 10, malloc_metadata: 1, stacks: 1,
             code_and_files: 12, jit: 0, sampler: 0, unattributed: 1}.merge(parts).transform_values { |size| size * ACCOUNT_MIB }
    Account.of({rss: bytes.values.sum, **bytes}.transform_keys(&:to_s))
  end

  def grown(malloc = {}, **later) = AccountGrowth.new(mib(**later), mib, malloc: malloc).to_s

  test "growth in Ruby objects" do
    assert_equal("Growing in Ruby objects (+60.0 MiB, 100% of what grew): RSS +60.0 MiB #{SINCE}", grown(slots_live: 100))
  end

  test "growth in malloc under Ruby" do
    assert_equal("Growing in malloc under Ruby (+48.0 MiB, 96% of what grew): RSS +50.0 MiB #{SINCE}",
                 grown({ruby: [48 * ACCOUNT_MIB, 90]}, malloc_live: 80))
  end

  test "growth in a C library" do
    assert_equal("Growing in the C library libleak.so (+45.0 MiB, 90% of what grew): RSS +50.0 MiB #{SINCE}",
                 grown({ruby: [3 * ACCOUNT_MIB, 6], "libleak.so" => [45 * ACCOUNT_MIB, 80]}, malloc_live: 80))
  end

  test "growth in waste names which" do
    assert_equal("Growing in fragmentation and caches of malloc (+90.0 MiB, 100% of what grew): RSS +90.0 MiB #{SINCE}",
                 grown(malloc_waste: 100))
    assert_equal("Growing in free slots in heap pages (+20.0 MiB, 100% of what grew): RSS +20.0 MiB #{SINCE}",
                 grown(slots_free: 25))
  end

  test "RSS that grew in no part that both accounts know" do
    earlier, later = [100, 200].map { |rss| Account.of("rss" => rss * ACCOUNT_MIB, "slots_live" => 40 * ACCOUNT_MIB) }
    assert_equal("Growing, but no part grew by 10.0 MiB: RSS +100.0 MiB since sampling started, and no known part grew.",
                 AccountGrowth.new(later, earlier, malloc: {}).to_s)
  end

  test "free slots that GC keeps beside objects that grew are theirs; more is waste" do
    assert_equal("Growing in Ruby objects (+60.0 MiB, 100% of what grew): RSS +60.0 MiB #{SINCE}", grown(slots_live: 70, slots_free: 35))
    assert(grown(slots_live: 50, slots_free: 105).start_with?("Growing in free slots in heap pages (+81.4 MiB, 74% of what " \
                                                                 "grew) and in Ruby objects (+28.6 MiB"))
  end

  test "two parts that matter are both named, the larger one first" do
    assert_equal("Growing in fragmentation and caches of malloc (+60.0 MiB, 60% of what grew) and " \
                 "in Ruby objects (+40.0 MiB, 40% of what grew): RSS +100.0 MiB #{SINCE}", grown(malloc_waste: 70, slots_live: 80))
    assert(grown(malloc_waste: 70, slots_live: 80, stacks: 21).include?("of what grew), in Ruby objects"))
  end

  test "what is below 5% of RSS or 4 MiB is not growth" do
    assert_equal("Not growing: RSS +5.0 MiB #{SINCE.chomp(".")}, and no part grew by 5.2 MiB.", grown(slots_live: 45))
    assert_equal("Growing in Ruby objects (+6.0 MiB, 100% of what grew): RSS +6.0 MiB #{SINCE}", grown(slots_live: 46))
    small = Account.of("rss" => 20 * ACCOUNT_MIB, "slots_live" => 8 * ACCOUNT_MIB)
    assert_equal([], AccountGrowth.new(small, Account.of("rss" => 17 * ACCOUNT_MIB, "slots_live" => 5 * ACCOUNT_MIB)).parts)
    assert_equal([:objects], AccountGrowth.new(small, Account.of("rss" => 16 * ACCOUNT_MIB, "slots_live" => 4 * ACCOUNT_MIB)).parts.map(&:source))
  end

  test "many small parts make growth of none" do
    assert_equal("Growing, but no part grew by 5.6 MiB: RSS +12.0 MiB #{SINCE.chomp(".")}, most of it in Ruby objects (+4.0 MiB, 33% of what grew).",
                 grown(slots_live: 44, malloc_live: 34, stacks: 5))
  end

  test "the living that fill what was free grow; waste that freed objects leave does not" do
    assert_equal("Growing in Ruby objects (+10.0 MiB, 100% of what grew): RSS 0 B #{SINCE}",
                 AccountGrowth.new(mib(slots_live: 50), mib(slots_free: 15)).to_s)
    assert_equal("Not growing: RSS 0 B #{SINCE.chomp(".")}, and no part grew by 5.5 MiB.", AccountGrowth.new(mib(slots_free: 15), mib(slots_live: 50)).to_s)
  end

  test "a process that shrinks is not growing" do
    assert(grown(slots_live: 10).start_with?("Not growing: RSS -30.0 MiB"))
  end

  test "without malloc rows it says in malloc, and what would tell more" do
    assert_equal("Growing in malloc (+50.0 MiB, 100% of what grew): RSS +50.0 MiB #{SINCE} Sample with malloc=on to see which library allocated it.",
                 grown(malloc_live: 80))
    refute(grown(slots_live: 100).include?("malloc=on"))
  end

  test "samples never say more than the account has" do
    parts = AccountGrowth.new(mib(malloc_live: 60), mib, malloc: {ruby: [40 * ACCOUNT_MIB, 50], "libc.so" => [20 * ACCOUNT_MIB, 40]}).parts
    assert_equal([[:malloc, "malloc under Ruby", 20], [:library, "the C library libc.so", 10]],
                 parts.map { |part| [part.source, part.name, (part.bytes / ACCOUNT_MIB).round] })
    assert_equal([], AccountGrowth.new(mib(malloc_live: 20), mib, malloc: {ruby: [40 * ACCOUNT_MIB, 50]}).parts)
  end

  test "malloc that no sample shows is named so" do
    assert(grown({"libx.so" => [-5 * ACCOUNT_MIB, 9]}, malloc_live: 80).start_with?("Growing in malloc memory without samples (+50.0 MiB"))
  end

  test "what is no program's data is named when it grows" do
    assert(grown(stacks: 50).start_with?("Growing in stacks of threads and fibers (+49.0 MiB"))
    assert(grown(unattributed: 50).start_with?("Growing in unattributed memory (+49.0 MiB"))
  end

  test "without RSS nothing is known to grow" do
    assert_equal("Whether the process grows is not known: /proc could not be read.",
                 AccountGrowth.new(Account.of("slots_live" => 9), mib).to_s)
  end

  test "live malloc by library, as far as it is resident, from a profile's rows" do
    row = lambda do |library, samples, malloced, resident = (samples * 1000.0)|
      Columns.row(library: library, malloc: malloced, inuse_samples: samples, inuse_objects: 1.0, inuse_space: samples * 1000.0, resident: resident)
    end
    rows = [row[1, 2, true], row[2, 3, true], row[3, 1, true], row[4, 5, true], row[5, 9, true, 1000.0], row[0, 7, false]]
    texts = ["", "ruby", "libruby.so.3.4", "libxml2.so.2", "libxml2.so.2", "ruby_prof.so"]
    raw = sample_build.raw.merge(rows: rows, texts: texts, frames: [], nodes: [0, 0])
    profile = Profile.from_raw(raw)
    assert_equal({ruby: [5000.0, 5], "libxml2.so.2" => [6000.0, 6], "ruby_prof.so" => [1000.0, 9]}, AccountGrowth.malloc_of(profile))
    assert_equal({}, AccountGrowth.malloc_of(sample_build.profile))
  end
end
