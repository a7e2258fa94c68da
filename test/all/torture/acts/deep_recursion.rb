# frozen_string_literal: true

# Recursion to the end of the stack: of Ruby methods, of C functions, in threads and fibers.
class DeepRecursion < Act
  def step
    case @random.rand(5)
    when 0 then rescued(SystemStackError) { down([]) }
    when 1 then Thread.new { rescued(SystemStackError) { down([]) } }.join
    when 2 then Fiber.new { rescued(SystemStackError) { down([]) } }.resume
    when 3 then rescued(SystemStackError) { through_c([]) }
    else nested_arrays
    end
    @kept = Witness.new(__FILE__, __LINE__)
    same(3, [1, 2].sum, 'the sum after it')
  end

  private

  def down(list) = down([list, list.size.to_s]).size + 1

  def through_c(list)
    [list].each_with_index { |inner, i| [[inner, i]].to_h { |a, b| [through_c([a, b]), b] } }
  end

  def nested_arrays
    array = []
    @random.rand(100..100_000).times { array = [array] }
    begin
      array.flatten
      array.hash
      array.inspect.size
    rescue SystemStackError
      nil
    end
  end
end
