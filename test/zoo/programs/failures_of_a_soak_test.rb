# A soak test of a shipping service runs the same tests over and over with Minitest, and one reporter for all rounds. The reporter keeps
# each result that is not a pass, with the message that compares the answers; every fifth round of one test fails.
#
# kind: leak
# keeper: @results, REPORTER
# gems: minitest 6.1.0
# rate: 270000
require_relative "../load"
require "stringio"
require "minitest"

class Shipping
  PLACES = Array.new(4_000) { |i| { name: "place #{i}", zone: i % 9, days: 1 + (i % 5) } }

  def initialize(round) = @round = round
  def quote(from, kilos) = PLACES[from, 240].map { |place| "#{kilos} kg to #{place[:name]}: #{(place[:zone] * kilos * 0.9).round(2)} in #{place[:days]} days" }.join("\n")
  def label(number) = "#{quote(number, 3)}\nround #{@round % 5 == 0 ? @round : 0}"
end

class ShippingTest < Minitest::Test
  class << self
    attr_accessor :round
  end

  def test_quotes = 8.times { |i| assert_includes Shipping.new(round).quote(i * 100, i), "kg to place" }
  def test_order = assert_operator(Shipping.new(round).quote(7, 2).lines.sort_by(&:size).size, :>, 100)

  def test_label
    label = Shipping.new(round).label(70)
    assert label.end_with?("round 0"), "the label is of another round: #{label}" # LEAK
  end

  private

  def round = self.class.round
end

REPORTER = Minitest::SummaryReporter.new(StringIO.new)
REPORTER.start
Load.run(150) do |n|
  ShippingTest.round = n
  %w[test_quotes test_order test_label].each { |name| REPORTER.record(ShippingTest.new(name).run) } # LEAK KEEPER
end
