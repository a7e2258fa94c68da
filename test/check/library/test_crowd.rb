# frozen_string_literal: true

require_relative "../../testing"
require_relative "build"

class CrowdTest < Test
  include HeapSample

  Info = Struct.new(:alive)

  # A census of so many threads, by line of the pool.
  def census(lines)
    made = lines.map { |line, count| {"path" => "/srv/app/pool.rb", "line" => line, "count" => count} }
    Alive.of("threads" => {"count" => lines.values.sum, "made" => made}, "fibers" => {"count" => 0, "made" => []})
  end

  # Threads as many as +counts+, at a time each.
  def crowd(counts)
    infos = [counts.first, counts.last].map { |count| Info.new(census(5 => 4, 30 => count)) }
    Crowd.of(infos) { |kind| Course.new((0...counts.size).to_a, kind == :threads ? counts : counts.map { 0 }) }
  end

  test "threads of which there are ever more are a crowd, with the line where they were made" do
    found = crowd((0..20).map { |i| 10 + 30 * i })
    assert_equal([:threads, 14, 614, Place.new("/srv/app/pool.rb", 30, nil)], [found.kind, found.before, found.now, found.place])
  end

  test "a pool that fills, one that breathes, and a few more, are none" do
    assert_nil(crowd([1, *Array.new(20, 200)]))
    assert_nil(crowd((0..20).map { |i| [10 * i, 60].min }))
    assert_nil(crowd((0..20).map { |i| i.even? ? 100 : 10 }))
    assert_nil(crowd((0..20).map { |i| 5 + i / 2 }))
    assert_nil(crowd((0..20).map { |i| 5000 + 2 * i }))
  end

  test "where profiles do not count threads there is none" do
    assert_nil(Crowd.of([Info.new(nil), Info.new(nil)]) { Course.new([0, 1, 2, 3], [0, 100, 200, 300]) })
  end
end
