# frozen_string_literal: true

require "tmpdir"
require_relative "../../testing"
require_relative "../../zoo/examination"
require_relative "../../zoo/score"
require_relative "../../fast/zoo/reached"

# The zoo is examined as its README says: on folders and answers that are made by hand.
class ExaminationTest < Test
  def series(*names)
    Dir.mktmpdir do |folder|
      names.each { |name| File.write(File.join(folder, name), "") }
      yield folder
    end
  end

  # Says what is given, by the number of profiles in the folder.
  Sayings = Struct.new(:verdicts) do
    def of(folder)
      kind, grade = verdicts.fetch(Dir.children(folder).size - 1).split(/ /, 2)
      { "verdict" => { "kind" => kind, "grade" => grade || "none" } }
    end
  end

  # An Examination whose verdict after each number of profiles is given.
  def examined(kind, *verdicts, settles: 0)
    truth = { "name" => kind, "kinds" => [kind], "lines" => [], "keepers" => [], "settles" => settles }
    names = verdicts.each_index.map { |index| format("heap-1-20260101T0000%02d.pb.gz", index * 2) }
    series(*names) { |folder| Examination.new(truth, folder, diagnosis: Sayings.new(verdicts)) }
  end

  test "the first profiles are those that were there when the process with most had written so many" do
    names = %w[heap-9-20260101T000002.pb.gz heap-9-20260101T000004.pb.gz heap-9-20260101T000006.pb.gz heap-10-20260101T000003.pb.gz heap-10-20260101T000005.pb.gz]
    series(*names) do |folder|
      one = ZooSeries.new(folder)
      assert_equal [3, 4], [one.size, one.seconds(3)]
      assert_equal names.values_at(3, 0, 1), one.first(2) { |part| Dir.children(part).sort }
      assert_equal names.sort, one.first(20) { |part| Dir.children(part).sort }
    end
  end

  test "a verdict is right since the last number of profiles at which it was not" do
    assert_equal 6, examined("leak", *["steady"] * 3, "leak confirmed", "steady", "leak confirmed", "leak confirmed").right_after
    assert_nil examined("leak", "steady", "steady", "leak confirmed", "leak unknown").right_after
    assert_equal 3, examined("steady", *["steady"] * 5).right_after
  end

  test "evidence that makes a right verdict weaker is found, wherever it comes" do
    assert_equal [5], examined("leak", "steady", "steady", "leak unknown", "leak likely", "leak unknown", "leak confirmed").weakened.map(&:first)
    assert_equal [], examined("leak", "steady", "steady", "leak unknown", "leak likely", "leak confirmed").weakened
    assert_equal [], examined("steady", "steady", "steady", "steady", "leak unknown").weakened
  end

  test "an alarm before a healthy program settled counts neither way, and after that against it" do
    early = examined("steady", *["leak confirmed"] * 4, *["steady"] * 20, settles: 8)
    late = examined("steady", *["leak confirmed"] * 9, *["steady"] * 20, settles: 8)
    assert_equal [[], ["steady"]], [early, late].map { |one| Score.new([one]).alarms }
    assert_equal [[1, 1], [0, 1]], [early, late].map { |one| Score.new([one]).shares["right after 8 profiles"] }
  end

  test "the shares count what is right after 20 profiles and after 8, and lines of what is right alone" do
    slow = examined("leak", *["steady"] * 12, *["leak confirmed"] * 9)
    never = examined("leak", *["leak unknown"] * 21)
    assert_equal({ "right after 20 profiles" => [1, 2], "right after 8 profiles" => [0, 2], "lines right, of the growing that are right" => [0, 0], "keepers right, of those" => [0, 0] },
          Score.new([slow, never]).shares)
  end

  test "a healthy one is asked from eight profiles on, past the time that it settles" do
    late = examined("steady", *["leak confirmed"] * 9, *["steady"] * 20, settles: 8)
    quiet = examined("steady", *["steady"] * 20).tap { |one| one.truth["name"] = "quiet" }
    assert_equal({ "steady" => [2, 22], "quiet" => [0, 13] }, Score.new([late, quiet]).asked)
    assert_includes Score.new([late, quiet]).lines.last, "2 of 35 answers are alarms, in 1 of 2 healthy ones (95%: 9.5 – 90.5%): steady"
  end

  test "fewer that are right and more faults are worse than before, more that are right and fewer faults are not" do
    before = Reached.new(right: { "lines" => 5 }, faults: { "alarms" => 2 })
    now = [[5, 2], [6, 1], [4, 2], [5, 3]].map { |lines, alarms| Reached.new(right: { "lines" => lines }, faults: { "alarms" => alarms }) }
    assert_equal [[true, true], [true, true], [false, true], [true, false]], now.map { |one| one.enum_for(:since, before).map { |_, holds, _| holds } }
  end

  test "a diagnosis that fails is no answer, and the warning names the series and what failed" do
    failing = Module.new do
      def self.of(_folder)
        yield "NoMethodError: undefined method"
        nil
      end
    end
    series("heap-1-20260101T000000.pb.gz", "heap-1-20260101T000002.pb.gz") do |folder|
      one = Examination.new({ "name" => "shop", "kinds" => ["leak"], "lines" => [], "keepers" => [], "settles" => 0 }, folder, counts: [2], diagnosis: failing)
      assert_equal [:silent, ["shop after 2: NoMethodError: undefined method"]], [one.last.outcome, one.warnings]
    end
  end
end
