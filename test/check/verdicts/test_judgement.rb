# frozen_string_literal: true

require_relative "../../testing"
require_relative "../../zoo/judgement"

# The judge of the zoo is fair: on answers that are made by hand.
class JudgementTest < Test
  LEAK = { "kinds" => %w[leak native], "lines" => ["shop.rb:2", "tilt/template.rb"], "keepers" => ["shop.rb:9", "@cache"], "rate" => 1000.0 }.freeze
  HEALTHY = { "kinds" => %w[steady bloat], "lines" => [], "keepers" => [] }.freeze

  def answer(state, kind = nil, detectable: nil, created: nil, holder: nil, **line)
    finding = { "lines" => [line.transform_keys(&:to_s)], "holder" => holder }
    { "processes" => [{ "state" => state, "kind" => kind, "detectable_per_hour" => detectable, "created" => created, "findings" => line.any? || holder ? [finding] : [] }] }
  end

  def judged(truth, ...) = Judgement.new(truth, answer(...))

  test "a growing program is right when a leak is named; growth that is certain, and no answer yet, are neither right nor wrong" do
    assert_equal %i[right right grows unknown wrong wrong],
      %w[confirmed likely grows unknown none ended].map { |state| judged(LEAK, state).outcome }
  end

  test "that no leak was found is wrong only if the rate that would have been found is below the program's" do
    assert_equal %i[wrong unknown], [3_500_000, 3_700_000].map { |rate| judged(LEAK, "none", detectable: rate).outcome }
  end

  test "of a healthy program any verdict is right that names no leak" do
    assert_equal %i[right right right right alarm alarm],
      %w[none ended grows unknown likely confirmed].map { |state| judged(HEALTHY, state).outcome }
  end

  test "an alarm before the program settled counts neither way, and no answer is never right" do
    assert_equal :early, Judgement.new(HEALTHY, answer("likely"), early: true).outcome
    assert_equal %i[silent silent], [HEALTHY, LEAK].map { |truth| Judgement.new(truth, nil).outcome }
  end

  test "the kind is right if the truth allows it" do
    assert_equal [true, true, true, false], %w[objects native mapped threads].map { |kind| judged(LEAK, "likely", kind).kind_right? }
  end

  test "a line is right by the gem's line, by the application's or by the place where threads are created; its number is a whole one" do
    assert_equal [true, true, true, false, false],
      [{ line: "gems/tilt-2.9.0/lib/tilt/template.rb:7", app_line: "page.rb:1" }, { line: "rack.rb:3", app_line: "programs/shop.rb:2" }, { created: "shop.rb:2" },
       { line: "programs/shop.rb:21" }, {}].map { |line| judged(LEAK, "likely", **line).line_right? }
    assert_nil judged(HEALTHY, "likely", line: "x.rb:1").line_right?
  end

  test "a holder is right by its line or by its name; where none is named nobody asks" do
    assert_equal [true, true, false],
      [{ "name" => "@cache of Shop" }, { "name" => "local list of Shop.run", "path" => "shop.rb", "line" => 9 }, { "name" => "Other::CACHE" }]
        .map { |holder| judged(LEAK, "likely", holder: holder).keeper_right? }
    assert_nil judged(LEAK, "likely", line: "shop.rb:2").keeper_right?
  end
end
