# frozen_string_literal: true

# Fibers and external enumerators, some left before they end.
class Fibers < Act
  def call
    fibers = Array.new(1 + @random.rand(50)) { |index| Fiber.new { |n| loop { n = Fiber.yield(n.to_s * 10 + index.to_s) } } }
    sum = (1..1 + @random.rand(20)).sum { |n| fibers.sum { |fiber| fiber.resume(n).size } }
    "#{sum}, #{("a".."zz").each.then { |all| Array.new(@random.rand(30)) { all.next } }.last}"
  end
end
