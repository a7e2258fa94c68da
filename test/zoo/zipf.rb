# frozen_string_literal: true

# Numbers from 0 to count - 1 by Zipf's law: a few come often, and most come rarely.
class Zipf
  def initialize(count, seed)
    @sums = (1..count).inject([0.0]) { |sums, rank| sums << (sums.last + (1.0 / rank)) }.drop(1)
    @random = Random.new(seed)
  end

  def next = @sums.bsearch_index { |sum| sum >= @random.rand * @sums.last }
end
