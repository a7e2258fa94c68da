# frozen_string_literal: true

require_relative "../../testing"
require_relative "command_helper"

class MergedHoldersTest < Test
  include CommandHelper

  MERGED = HeapSample::Profile.from_raw(Builds.held_build.raw)

  def merge_of(*profiles, **options)
    merge = HeapSample::Tool::Merge.new(**options)
    profiles.each { |profile| merge.add(profile) }
    merge.profile
  end

  # Bytes of each way, by its names and what is at its end.
  def bytes_of_ways(profile)
    profile.holders.each_with_object(Hash.new(0.0)) { |held, sums| sums[[*profile.holders.path(held.node).map(&:name), held.class_name]] += held.space }
  end

  def parts_are_rows?(profile)
    parts = Hash.new(0.0).compare_by_identity
    profile.holders.each { |held| parts[held.row] += held.space }
    profile.table.all? do |row|
      all = row[HeapSample::Columns::INUSE_SPACE] + row[HeapSample::Columns::YOUNG_SPACE]
      (all - parts[row]).abs < 1e-6 * (all + 1)
    end
  end

  test "ways of the same names in two processes are one, and what they keep adds up" do
    one = bytes_of_ways(MERGED)
    all = bytes_of_ways(merge_of(MERGED, MERGED))
    assert_equal(one.keys.sort, all.keys.sort)
    one.each { |way, bytes| assert_close(2 * bytes, all[way], 1e-6) }
    assert(parts_are_rows?(merge_of(MERGED, MERGED)))
  end

  test "what a process without a walk has is not walked, and the parts are the rows all the same" do
    without = HeapSample::Profile.from_raw(held_build.raw.merge(holders: nil, kept: nil))
    both = merge_of(MERGED, without)
    assert(parts_are_rows?(both))
    own = MERGED.table.sum { |row| row[HeapSample::Columns::INUSE_SPACE] + row[HeapSample::Columns::YOUNG_SPACE] }
    assert_close(own, bytes_of_ways(both).sum { |way, bytes| way[0] == "(not walked)" ? bytes : 0 }, 1e-6 * own)
    assert_nil(merge_of(without, without).holders)
  end

  test "where rows make room for others their ways stay with them" do
    merged = merge_of(MERGED, MERGED, rows_max: 3)
    assert(merged.table.size < merge_of(MERGED, MERGED).table.size && parts_are_rows?(merged), merged.table.size)
  end

  test "the command merges them into a file that why reads" do
    folder do |dir|
      %w[a b].each do |name|
        raw = held_build.raw
        raw[:meta]["process_start"] = "started as #{name}"
        write(File.join(dir, "#{name}.pb.gz"), HeapSample::Formats.encode(HeapSample::Profile.from_raw(raw), "pb.gz"))
      end
      output = File.join(dir, "all.pb.gz")
      heapsample("merge", File.join(dir, "a.pb.gz"), File.join(dir, "b.pb.gz"), "-o", output)
      text = printed("why", output)
      assert(text.match?(/^ +[\d.]+ MiB .*Ticket::ALL/), text)
    end
  end
end
