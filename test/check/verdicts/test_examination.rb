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
  Sayings = Struct.new(:states) do
    def of(folder) = { "processes" => [{ "state" => states.fetch(Dir.children(folder).size - 1), "findings" => [] }] }
  end

  # An Examination whose state after each number of profiles is given.
  def examined(kind, *states, settles: 0)
    truth = { "name" => kind, "kinds" => [kind], "lines" => [], "keepers" => [], "settles" => settles }
    names = states.each_index.map { |index| format("heap-1-20260101T00%02d%02d.pb.gz", *(index * 2).divmod(60)) }
    series(*names) { |folder| Examination.new(truth, folder, diagnosis: Sayings.new(states)) }
  end

  test "the first profiles are those that were there when the process with most had written so many" do
    names = %w[heap-9-20260101T000002.pb.gz heap-9-20260101T000004.pb.gz heap-9-20260101T000006.pb.gz heap-10-20260101T000003.pb.gz heap-10-20260101T000005.pb.gz]
    series(*names) do |folder|
      one = ZooSeries.new(folder)
      assert_equal [3, 4], [one.size, one.seconds(3)]
      assert_equal names.values_at(3, 0, 1), one.first(2) { |part| Dir.children(part).sort }
      assert_equal names.sort, one.first(20) { |part| Dir.children(part).sort }
      Dir.chdir(File.dirname(folder)) { assert(ZooSeries.new(File.basename(folder)).first(2) { |part| Dir.children(part).all? { |name| File.exist?(File.join(part, name)) } }) }
    end
  end

  test "a verdict is right since the last number of profiles at which it was not" do
    assert_equal 6, examined("leak", *["none"] * 3, "likely", "none", "likely", "likely").right_after
    assert_nil examined("leak", "none", "none", "likely", "unknown").right_after
    assert_equal 3, examined("steady", *["none"] * 5).right_after
  end

  test "a leak that is not named any more is taken back, wherever that comes" do
    assert_equal [5], examined("leak", "none", "none", "unknown", "likely", "unknown", "confirmed").taken_back
    assert_equal [], examined("leak", "none", "none", "unknown", "likely", "confirmed").taken_back
    assert_equal [], examined("steady", "none", "none", "likely", "none").taken_back
  end

  test "an alarm before a healthy program settled counts neither way, and after that against it" do
    early = examined("steady", *["likely"] * 4, *["none"] * 20, settles: 8)
    late = examined("steady", *["likely"] * 9, *["none"] * 20, settles: 8)
    assert_equal [[], ["steady"]], [early, late].map { |one| Score.new([one]).alarms }
    assert_equal [["steady"], ["steady"]], [early, late].map { |one| Score.new([one]).early }
  end

  test "the shares count leaks that are named after 20 profiles and after 60, and growth that is certain" do
    slow = examined("leak", *["none"] * 12, *["grows"] * 20, *["likely"] * 40)
    quick = examined("leak", *["grows"] * 12, *["likely"] * 9)
    never = examined("leak", *["unknown"] * 61)
    assert_equal [[2, 3], [1, 3], [2, 3], [0, 0], [0, 0]], Score.new([slow, quick, never]).shares.values
    assert_equal ["leak"], Score.new([never]).unknown
  end

  test "a growing program that is called fine at any time is wrong" do
    assert_equal [["leak"], []], [%w[unknown unknown none likely], %w[unknown unknown grows likely]].map { |states| Score.new([examined("leak", *states)]).wrong }
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
