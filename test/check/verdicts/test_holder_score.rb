# frozen_string_literal: true

require "tmpdir"
require_relative "../../testing"
require_relative "../../zoo/examination"
require_relative "../../zoo/holder_score"

# The zoo counts named holders, sizes and heap walks as holder_score.rb says: on answers and metas that are made by hand.
class HolderScoreTest < Test
  MIB = 1 << 20
  Made = Struct.new(:truth, :long, :walks) do
    def grows? = Judgement.grows?(truth)
  end

  def meta(mib, process: 1, kept: nil) = { "process_id" => process, "account" => { "slots_live" => mib * MIB / 4, "malloc_live" => mib * MIB * 3 / 4, "rss" => 0 }, "kept" => kept }
  def walk(milliseconds, refused: nil) = { "hold_up_ns" => milliseconds * 1_000_000, "refused" => refused }

  # An examination of a leak retained by CACHE; `holder`: the names of the findings' holders, nil for no finding.
  def leak(name, *holders, mib: 20, keepers: ["CACHE"], state: "likely", kept: walk(10))
    truth = { "name" => name, "kinds" => ["leak"], "lines" => [], "keepers" => keepers }
    findings = holders.map { |holder| { "lines" => [], "holder" => holder && { "name" => holder } } }
    Made.new(truth, Judgement.new(truth, { "processes" => [{ "state" => state, "findings" => findings }] }), SeriesWalks.new([meta(1), meta(mib, kept: kept)]))
  end

  test "a holder counts if the first finding names it, leak or not yet, of the leaks that have one" do
    score = HolderScore.new([leak("right", "CACHE of Shop"), leak("second", "Other", "CACHE"), leak("none", nil), leak("grows", "CACHE", state: "grows"), leak("has none", "X", keepers: [])])
    assert_equal [2, 4], score.named
    assert_equal ["second", "none"], score.missed
    refute score.enough?
    assert HolderScore.new(Array.new(9) { leak("right", "CACHE") } << leak("none")).enough?
  end

  test "sizes are those of the last profile of the largest process; 300 MiB belong to the middle" do
    sized = [49, 50, 300, 301].map { |mib| leak("at #{mib}", "CACHE", mib: mib) }
    assert_equal [[1, 1], [2, 2], [1, 1]], HolderScore.new(sized).by_size.values
    assert_equal 70 * MIB, SeriesWalks.new([meta(90), meta(5, process: 2), meta(60), meta(70, process: 2)]).live_bytes
    assert_nil SeriesWalks.new([]).live_bytes
    assert_equal 8, SeriesWalks.new([{ "process_id" => 1, "account" => { "malloc_live" => nil, "slots_live" => 4, "rss" => 8 } }]).live_bytes
  end

  test "a walk that was refused is none, and the line says why; the longest stop is of all programs" do
    score = HolderScore.new([leak("walked", "CACHE", kept: walk(40)), leak("refused", "CACHE", kept: walk(1, refused: "too large")), leak("never", "CACHE", kept: nil)])
    assert_includes score.lines, "no heap walk in 2 of these leaks: refused (too large), never"
    assert_includes score.lines, "longest stop by a heap walk: 40.0 ms (walked)"
    assert score.short?
    refute HolderScore.new([leak("slow", "CACHE", kept: walk(51))]).short?
    assert HolderScore.new([leak("never", "CACHE", kept: nil)]).short?
  end

  test "a profile that cannot be read is left out" do
    Dir.mktmpdir do |folder|
      path = File.join(folder, "heap-1-20260101T000000.pb.gz").tap { |name| File.write(name, "") }
      assert_equal [nil, false, nil], SeriesWalks.of([path]).then { |walks| [walks.live_bytes, walks.made?, walks.longest_stop] }
    end
  end
end
