# frozen_string_literal: true

# Random numbers of a seed, from the distributions that services need.
class Draws
  def initialize(seed) = @random = Random.new(seed)

  def between(least, most) = least + (most - least) * @random.rand
  # Between two numbers, even in the logarithm.
  def scale(least, most) = Math.exp(between(Math.log(least), Math.log(most)))
  def chance?(probability) = @random.rand < probability
  def one_of(list) = list[@random.rand(list.size)]
  def exponential = -Math.log(1 - @random.rand)
  # At least 1; heavier tails for smaller +alpha+.
  def pareto(alpha) = (1 - @random.rand)**(-1.0 / alpha)
  def normal = Math.sqrt(-2 * Math.log(1 - @random.rand)) * Math.cos(2 * Math::PI * @random.rand)

  def poisson(mean)
    return [(mean + Math.sqrt(mean) * normal).round, 0].max if mean > 50

    count = 0
    product = @random.rand
    least = Math.exp(-mean)
    while product > least
      count += 1
      product *= @random.rand
    end
    count
  end
end
