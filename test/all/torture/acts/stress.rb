# frozen_string_literal: true

# GC at every chance, for a moment: whatever the others are just doing.
class Stress < Act
  # With a GC for each object of each Ractor, the thread that would end it hardly gets the VM lock: minutes. A recursion
  # to the end of the stack makes tens of thousands of objects, and each GC then marks as many frames: minutes, too.
  def self.beside?(other) = ![Ractors, DeepRecursion].include?(other)

  def step
    GC.stress = true
    texts = Array.new(@random.rand(1..6)) { |i| [i.to_s, { i => [i] }] }
    GC.stress = false
    same((0...texts.size).map { |i| [i.to_s, { i => [i] }] }, texts, 'what was built under stress')
    @kept = Witness.new(__FILE__, __LINE__)
    case @random.rand(4)
    when 0 then GC.start(full_mark: false)
    when 1 then GC.start
    when 2 then GC.start(immediate_sweep: false)
    end
    sleep(@random.rand * 0.05)
  ensure
    GC.stress = false
  end
end
