# A trainer of a small network computes gradients by a graph of values. It adds each loss to the total loss of the epoch for its log: the
# value and not the number, so that the total leads to the graphs of all steps of an epoch which is never over.
#
# kind: leak
# keeper: @total, @parents, TRAINER
# rate: 1750000
require_relative "../load"

class Value
  attr_reader :number, :parents, :kind
  attr_accessor :slope

  def initialize(number, kind = :leaf, parents = [])
    @number = number
    @kind = kind
    @parents = parents
    @slope = 0.0
  end

  def +(other) = Value.new(@number + other.number, :sum, [self, other]) # LEAK
  def *(other) = Value.new(@number * other.number, :product, [self, other]) # LEAK
  def tanh = Value.new(Math.tanh(@number), :tanh, [self]) # LEAK
  def learn(rate) = @number -= rate * @slope

  def backward
    self.slope = 1.0
    order.reverse_each do |value|
      a, b = value.parents
      case value.kind
      when :sum then [a, b].each { |one| one.slope += value.slope }
      when :product
        a.slope += b.number * value.slope
        b.slope += a.number * value.slope
      when :tanh then a.slope += (1 - (value.number**2)) * value.slope
      end
    end
  end

  private

  def order
    found = []
    seen = {}.compare_by_identity
    visit = lambda do |value|
      next if seen[value]

      seen[value] = true
      value.parents.each(&visit)
      found << value
    end
    visit.call(self)
    found
  end
end

class Trainer
  INPUTS = 12
  HIDDEN = 9

  def initialize
    @random = Random.new(5)
    @weights = Array.new(HIDDEN) { Array.new(INPUTS) { leaf(@random.rand - 0.5) } }
    @out = Array.new(HIDDEN) { leaf(@random.rand - 0.5) }
    @total = leaf(0.0)
  end

  def step(inputs, wanted)
    loss = loss_of(inputs.map { |number| leaf(number) }, wanted) # LEAK
    all = [*@weights.flatten, *@out].each { |weight| weight.slope = 0.0 }
    loss.backward
    all.each { |weight| weight.learn(0.02) }
    @total += loss # LEAK KEEPER
  end

  # The answer of the network without a graph.
  def answer(inputs)
    @weights.zip(@out).sum { |row, out| Math.tanh(row.zip(inputs).sum { |weight, input| weight.number * input }) * out.number }
  end

  def mean(steps) = @total.number / steps

  private

  def leaf(number) = Value.new(number) # LEAK

  def loss_of(inputs, wanted)
    hidden = @weights.map { |row| row.zip(inputs).map { |weight, input| weight * input }.reduce(:+).tanh } # LEAK
    off = hidden.zip(@out).map { |value, weight| value * weight }.reduce(:+) + leaf(-wanted) # LEAK
    off * off # LEAK
  end
end

TRAINER = Trainer.new
Load.run(60) do |n|
  inputs = Array.new(Trainer::INPUTS) { |i| Math.sin((n * (i + 1)) % 97) }
  TRAINER.step(inputs, inputs.sum / 12) # LEAK
  80.times { |k| TRAINER.answer(inputs.rotate(k).map { |input| input + (k / 100.0) }) }
  format("step %d: mean loss %.5f", n, TRAINER.mean(n)) if n % 10 == 0
end
