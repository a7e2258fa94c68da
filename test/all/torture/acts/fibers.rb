# frozen_string_literal: true

# Fibers that are resumed to their end, and ones that are forgotten halfway with their stacks.
class Fibers < Act
  def step
    count = @random.rand(1..40)
    fibers = Array.new(count) { |i| Fiber.new { |start| 5.times { |n| start += Fiber.yield(grow(start, i, n)) }; :end } }
    sums = fibers.map { |fiber| fiber.resume(0) }
    same(Array.new(count) { |i| i.to_s.size }, sums, 'what the fibers yielded')
    fibers.shuffle(random: @random).first(count / 2).each { |fiber| 4.times { fiber.resume(1) } }
    external
    @forgotten = fibers if @random.rand(4).zero?
  end

  private

  def grow(start, i, n)
    @kept = Witness.new(__FILE__, __LINE__)
    text = +''
    (start + n).times { text << i.to_s }
    i.to_s.size + (text.size - text.size)
  end

  def external
    letters = Enumerator.new { |out| 'a'.upto('z') { |letter| out << letter * 3 } }
    same(%w[aaa bbb ccc], Array.new(3) { letters.next }, 'an external enumerator')
    same([0, 1, 4, 9], (0..Float::INFINITY).lazy.map { |n| n * n }.first(4), 'a lazy enumerator')
  end
end
