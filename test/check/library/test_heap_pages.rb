# frozen_string_literal: true

# Who holds free memory of heap pages, and what a forked process does not share any more.

require_relative "../../testing"
require_relative "builds"

class HeapPagesTest < Test
  include Builds

  MIB_OF_PAGES = 1 << 20

  # Two lines; the first holds +held+ bytes of free slots with +samples+ samples, +pinned+ of them pinned.
  def pages_build(held: 40 * MIB_OF_PAGES, pinned: 10 * MIB_OF_PAGES, unshared: 0, allocated: 0, samples: 40, rss: 100 * MIB_OF_PAGES, **meta)
    heaps = [{"slot_size" => 40, "total_slots" => 2_000_000, "live_slots" => 40_000, "live_at_start" => 10,
              "pages" => 800, "pinned_pages" => 100, "held_slots" => 1_200_000, "compact_bytes" => 30 * MIB_OF_PAGES}]
    build = Build.new("heaps" => heaps, "account" => {"rss" => rss, "slots_free" => rss / 2}, **meta)
    build.row(["/srv/app/a.rb:3 A#keep", "/srv/app/main.rb:1 <main>"], "Object", inuse: samples, at_gc: 3)
    build.row(["/srv/app/b.rb:9 B#dense", "/srv/app/main.rb:2 <main>"], "String", inuse: 400, at_gc: 3)
    profile = build.profile
    profile.table[0][HeapSample::Columns::HOLDS_FREE, 3] = [held, held.to_f**2 / samples, pinned]
    profile.table[0][HeapSample::Columns::UNSHARED, 3] = [unshared, unshared.to_f**2 / samples, allocated]
    profile
  end

  LOOK_AT_PAGES = {root: "/srv/app", width: 120}.freeze

  test "top ranks lines by the free memory that they hold, with interval and what is pinned" do
    top = pages_build.top(value: :holds_free)
    text = top.text(**LOOK_AT_PAGES).to_s
    assert_equal(1, top.entries.size)
    entry = top.first
    assert_equal(40 * MIB_OF_PAGES, entry.value)
    low, high = entry.interval
    assert(low < entry.value && entry.value < high && high < 2 * entry.value, entry.interval.inspect)
    assert(text.match?(/^ *1 +40\.0 MiB +±.* +10\.0 MiB .*a\.rb:3 A#keep/), text)
    assert_equal(10 * MIB_OF_PAGES, entry.to_h[:holds_free_pinned_bytes])
    assert_equal(40 * MIB_OF_PAGES, top.to_h[:total][:value])
  end

  test "holding free memory is of slots alone" do
    assert_error(ArgumentError, /holds_free counts slots, but kind is :malloc/) { pages_build.top(value: :holds_free, kind: :malloc) }
  end

  test "a report says who holds free memory, and what GC.compact could empty" do
    text = pages_build.report.text(**LOOK_AT_PAGES).to_s
    assert(text.include?("Free memory of heap pages, by the lines that hold it: 40.0 MiB"), text)
    assert(text.gsub("\n", " ").include?("GC.compact could empty at most 30.0 MiB of pages"), text)
    pages = pages_build.report.to_h[:heap_pages]
    assert_equal([30 * MIB_OF_PAGES, 48_000_000], pages.values_at(:compact_bytes, :held_free_bytes))
  end

  test "a report is silent about free memory where there is little, and where it is not known" do
    refused = /Free memory of heap pages|shared/i
    refute(pages_build(held: MIB_OF_PAGES).report.text(**LOOK_AT_PAGES).to_s.match?(refused), "little")
    refute(sample_build.profile.report.text(**LOOK_AT_PAGES).to_s.match?(refused), "an older file")
    assert_equal([nil, nil], [sample_build.profile.info.held_bytes, sample_build.profile.info.compact_bytes])
  end

  test "a report says what a forked process does not share any more, by line" do
    inherited = {"bytes" => 60 * MIB_OF_PAGES, "unshared" => 45 * MIB_OF_PAGES}
    profile = pages_build(unshared: 30 * MIB_OF_PAGES, allocated: 20 * MIB_OF_PAGES, "inherited" => inherited)
    text = profile.report.text(**LOOK_AT_PAGES).to_s
    assert(text.gsub(/\s+/, " ").include?("but no longer: 45.0 MiB of 60.0 MiB of heap pages (75.0%)"), text)
    assert(profile.top(value: :unshared).text(**LOOK_AT_PAGES).to_s.match?(/30\.0 MiB +±.* +20\.0 MiB .*a\.rb:3/), text)
    assert_equal({bytes: 60 * MIB_OF_PAGES, unshared: 45 * MIB_OF_PAGES}, profile.info.inherited_pages)
  end

  test "a report says why what is shared is not known" do
    profile = pages_build("inherited" => nil, "inherited_missing" => "the parent process has ended")
    assert(profile.report.text(**LOOK_AT_PAGES).to_s.gsub(/\s+/, " ").include?("is not known: the parent process has ended."))
    assert_nil(profile.info.inherited_pages)
  end

  test "a group's free memory is the sum of its rows, a filter's that of what is left" do
    profile = pages_build
    assert_equal(40 * MIB_OF_PAGES, profile.groups(:class).find { |group| group.key == "Object" }.holds_free.space)
    assert_equal(0, profile.filter(class: "String").groups(:line).total.holds_free.space)
    assert_equal(40, profile.groups(:line).total.holds_free.samples)
  end
end
