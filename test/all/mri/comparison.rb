# frozen_string_literal: true

require_relative 'results'

# What differs between the results of one part on the stock build and on ours. Without a stock build
# every test must pass, or be in known-failures.
class Comparison
  Difference = Struct.new(:test, :expected, :outcome)

  # Beyond this many, something is broken at large: no use in running them one by one.
  RERUN_LIMIT = 40

  # The block returns whether a test is to be compared. That it ends always is.
  def initialize(stock, ours, known_failures, &compares)
    @stock = stock
    @ours = ours
    @known_failures = known_failures
    @compares = compares
  end

  # Those that took the process with them first. Some of MRI's tests are made for each of its test
  # files or libraries, of which ours has more.
  def differences
    @differences ||= (@ours.tests | (@stock&.tests || [])).grep_v(/heap_?sample/).filter_map { |test|
      outcome = @ours[test]
      next unless @compares.call(test) || outcome.status == 'died'
      Difference.new(test, expected(test), outcome) unless as_expected?(test, outcome)
    }.sort_by { |d| d.outcome.status == 'died' ? 0 : 1 }
  end

  # Yields each differing test for a rerun on its own, on both builds: -> the differences that stay. One
  # that neither rerun reached stays also.
  def confirmed
    found = differences
    return found if found.size > RERUN_LIMIT
    found.flat_map do |difference|
      stock, ours = yield difference.test
      next difference unless [stock, ours].compact.any? { |results| results.tests.include?(difference.test) }
      Comparison.new(stock, ours, @known_failures) { |test| test == difference.test }.differences
    end
  end

  private

  def expected(test) = @stock ? @stock[test] : Results::Outcome.new('pass', 0.0, '')

  def as_expected?(test, outcome)
    return outcome.status == @stock[test].status if @stock
    %w[pass skip].include?(outcome.status) || (outcome.status == 'fail' && @known_failures.include?(test))
  end
end
