# frozen_string_literal: true

module HeapSample
  # Evidence that a row of numbers grows: a martingale on their ranks.
  #
  # If the numbers are exchangeable (one level, and noise of any distribution), each rank among the numbers before it is
  # independent and uniform (Rényi 1962; Barnard 1963). With S the sum of the signs of all differences, as in Kendall's tau,
  #
  #   M(t) = exp(t S) / product over k = 2..G of sinh(kt) / (k sinh t)
  #
  # is a nonnegative martingale of mean 1 (Mallows 1957), and so is its mean over several t (Robbins 1970). By Ville's
  # inequality it exceeds 1/a at any of all looks with a probability of a at most. Ties make it smaller.
  module RankTest
    THETAS = [0.05, 0.1, 0.2, 0.4, 0.8].freeze
    # Numbers that are tested, at most.
    MOST = 32
    # For each t the logarithm of the product above, by G.
    PRODUCTS = THETAS.map do |t|
      (2..MOST).inject([0.0, 0.0]) { |sums, k| [*sums, sums.last + Math.log(Math.sinh(k * t) / (k * Math.sinh(t)))] }.freeze
    end.freeze
    private_constant :THETAS, :MOST, :PRODUCTS

    # call-seq:
    #   RankTest.log(numbers) -> Float
    #
    # The natural logarithm of the mean of M over all t. Raises ArgumentError for more than 32 numbers.
    def self.log(numbers)
      raise ArgumentError, "at most #{MOST} numbers can be tested, not #{numbers.size}" if numbers.size > MOST

      sum = signs(numbers)
      logs = THETAS.zip(PRODUCTS).map { |t, products| (t * sum) - products[numbers.size] }
      largest = logs.max
      largest + Math.log(logs.sum { |log| Math.exp(log - largest) } / logs.size)
    end

    # The signs of the differences between all pairs, summed.
    def self.signs(numbers)
      sum = 0
      numbers.each_with_index { |later, k| k.times { |i| sum += later <=> numbers[i] } }
      sum
    end
    private_class_method :signs
  end
end
