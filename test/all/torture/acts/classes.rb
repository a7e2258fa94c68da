# frozen_string_literal: true

# Classes and modules by the hundred: named late, included, prepended, cloned, forgotten with their instances.
class Classes < Act
  def initialize(...)
    super
    @number = 0
    @held = []
  end

  def step
    @random.rand(5..40).times { @held << make }
    @held.each { |klass, n, object| same([n, klass], [object.value, object.class], 'an instance of a fresh class') }
    @held.clear if @held.size > 200 || @random.rand(3).zero?
  end

  private

  def make
    n = @number += 1
    klass = Class.new(@random.rand(2).zero? ? Object : (@held.sample(random: @random)&.first || Witness)) do
      define_method(:initialize) { @made = [n.to_s] }
      def value = @made[0].to_i
    end
    mixed = Module.new { def value = super }
    klass.prepend(mixed) if @random.rand(3).zero?
    klass.include(Module.new { def other = 1 }) if @random.rand(3).zero?
    klass.set_temporary_name("made<#{n}>") if @random.rand(5).zero?
    klass = klass.clone if @random.rand(5).zero?
    named(klass, n) if @random.rand(5).zero?
    [klass, n, klass.new]
  end

  def named(klass, n)
    Classes.const_set("Made#{n}", klass)
    same("Classes::Made#{n}", klass.name, 'the name of a class')
    Classes.send(:remove_const, "Made#{n}")
  end
end
