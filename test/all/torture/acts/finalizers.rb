# frozen_string_literal: true

# Finalizers that allocate, raise, and undefine each other; each runs at most once.
class Finalizers < Act
  def initialize(...)
    super
    @runs = Hash.new(0)
    @number = 0
  end

  def step
    @random.rand(10..60).times { add(@number += 1) }
    GC.start(full_mark: false) if @random.rand(2).zero?
    twice = @runs.select { |_, times| times > 1 }
    same({}, twice, 'finalizers that ran more than once')
    @runs.clear if @runs.size > 10_000
  end

  private

  # Not in a block: a finalizer that closes over its object keeps it.
  def add(number)
    object = @random.rand(2).zero? ? Witness.new(__FILE__, __LINE__) : "text #{number}"
    ObjectSpace.define_finalizer(object, finalizer(number, @random.rand(3)))
    ObjectSpace.undefine_finalizer(object) if @random.rand(8).zero?
  end

  def finalizer(number, kind)
    runs = @runs
    proc do
      runs[number] += 1
      Array.new(20) { |i| "#{number} #{i}" }
      raise 'seen by nobody' if kind == 0
    end
  end
end
