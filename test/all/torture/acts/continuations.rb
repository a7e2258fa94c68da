# frozen_string_literal: true

require 'continuation'

# callcc: a stack that is copied aside, and returned to.
class Continuations < Act
  def step
    same(%w[0 1 2 3], counted, 'how often a continuation was called')
    same(6, generated, 'the sum of what was generated')
  end

  private

  def counted
    seen = []
    again = nil
    n = callcc { |cont| again = cont; 0 }
    seen << n.to_s
    @kept = Witness.new(__FILE__, __LINE__)
    again.call(n + 1) if n < 3
    seen
  end

  def generated
    sum = 0
    callcc do |out|
      [1, 2, 3, 4].each do |n|
        Array.new(50) { |i| i.to_s }
        out.call if n == 4
        sum += n
      end
    end
    sum
  end
end
