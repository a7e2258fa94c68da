# frozen_string_literal: true

require_relative "../../testing"
require_relative "../../zoo/judgement"

# The judge of the zoo is fair: on answers that are made by hand.
class JudgementTest < Test
  LEAK = { "kinds" => %w[leak native], "lines" => ["shop.rb:2", "tilt/template.rb"], "keepers" => ["shop.rb:9", "@cache"] }.freeze
  HEALTHY = { "kinds" => %w[steady bloat], "lines" => [], "keepers" => [] }.freeze

  def answer(kind, grade, **finding)
    { "verdict" => { "kind" => kind, "grade" => grade }, "findings" => finding.any? ? [finding.transform_keys(&:to_s)] : [] }
  end

  def judged(truth, ...) = Judgement.new(truth, answer(...))

  test "a leak is right when its grade is confirmed or likely, of any kind that the truth allows" do
    assert_equal %i[right right unknown wrong wrong],
          [judged(LEAK, "leak", "confirmed"), judged(LEAK, "native", "likely"), judged(LEAK, "leak", "unknown"),
           judged(LEAK, "threads", "confirmed"), judged(LEAK, "steady", "none")].map(&:outcome)
  end

  test "of a healthy program any verdict is right that names no leak, and a likely leak is an alarm" do
    assert_equal %i[right right right unknown alarm],
          [judged(HEALTHY, "steady", "none"), judged(HEALTHY, "bloat", "confirmed"), judged(HEALTHY, "fragmentation", "likely"),
           judged(HEALTHY, "leak", "unknown"), judged(HEALTHY, "threads", "likely")].map(&:outcome)
  end

  test "an alarm before the program settled counts neither way" do
    assert_equal :early, Judgement.new(HEALTHY, answer("leak", "confirmed"), early: true).outcome
  end

  test "no answer is never right" do
    assert_equal %i[silent silent], [Judgement.new(HEALTHY, nil), Judgement.new(LEAK, nil)].map(&:outcome)
  end

  test "a line is right by the gem's line or by the application's, and its number is a whole one" do
    assert_equal [true, true, false, false],
          [{ line: "gems/tilt-2.9.0/lib/tilt/template.rb:7", app_line: "page.rb:1" }, { line: "rack.rb:3", app_line: "programs/shop.rb:2" },
           { line: "programs/shop.rb:21", app_line: nil }, { line: nil }].map { |finding| judged(LEAK, "leak", "confirmed", **finding).line_right? }
  end

  test "a keeper is right by its line or by its name; without one in the truth nobody asks" do
    assert_equal [true, true, false, false],
          [{ "line" => "shop.rb:9" }, { "line" => nil, "what" => "Hash @cache" }, { "line" => "shop.rb:90" }, nil]
      .map { |keeper| judged(LEAK, "leak", "confirmed", keeper: keeper).keeper_right? }
    assert_nil judged(HEALTHY, "leak", "confirmed", keeper: { "line" => "x.rb:1" }).keeper_right?
    assert_equal [true, true, false],
          [{ "name" => "@cache of Shop" }, { "name" => "local list of Shop.run", "path" => "shop.rb", "line" => 9 }, { "name" => "Other::CACHE" }]
      .map { |holder| judged(LEAK, "leak", "confirmed", holder: holder, keeper: { "line" => "shop.rb:9" }).keeper_right? }
  end

  test "a right verdict is weakened by a lesser grade, and by another kind, but not by a better grade" do
    likely = judged(LEAK, "leak", "likely")
    assert_equal [true, true, false, false],
          [%w[leak unknown], %w[native confirmed], %w[leak confirmed], %w[leak likely]].map { |later| likely.weakened_by?(judged(LEAK, *later)) }
  end
end
