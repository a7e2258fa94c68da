# frozen_string_literal: true

require_relative 'results'

# What differs between the results of one part on the stock build and on ours. Without a stock build
# every test must pass, or be in known-failures.
class Comparison
  Difference = Struct.new(:test, :expected, :outcome)

  # Beyond this many, something is broken at large: no use in running them one by one.
  RERUN_LIMIT = 40

  def initialize(stock, ours, known_failures)
    @stock = stock
    @ours = ours
    @known_failures = known_failures
  end

  def differences
    (@ours.tests | (@stock&.tests || [])).filter_map do |test|
      outcome = @ours[test]
      Difference.new(test, expected(test), outcome) unless as_expected?(test, outcome)
    end
  end

  # Yields each differing test for a rerun on its own, on both builds: -> the differences that stay.
  def confirmed(&rerun)
    found = differences
    return found if found.empty? || found.size > RERUN_LIMIT
    found.flat_map do |difference|
      stock, ours = rerun.call(difference.test)
      Comparison.new(stock, ours, @known_failures).differences.select { |d| d.test == difference.test }
    end
  end

  private

  def expected(test) = @stock ? @stock[test] : Results::Outcome.new('pass', 0.0, '')

  def as_expected?(test, outcome)
    return outcome.status == @stock[test].status if @stock
    %w[pass skip].include?(outcome.status) || (outcome.status == 'fail' && @known_failures.include?(test))
  end
end
