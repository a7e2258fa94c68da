# frozen_string_literal: true

require 'objspace'

# Walks over all objects, and MRI's own tracing of allocations.
class Walks < Act
  def step
    mine = Array.new(@random.rand(1..50)) { Witness.new(__FILE__, __LINE__) }
    case @random.rand(6)
    when 0 then found_by_each_object(mine)
    when 1 then same(true, ObjectSpace.count_objects[:TOTAL].positive?, 'count_objects')
    when 2 then ObjectSpace.memsize_of_all(Witness)
    when 3 then ObjectSpace.each_object(Class) { |klass| klass.name }
    when 4 then traced
    else mine.each { |witness| ObjectSpace.reachable_objects_from(witness) }
    end
    @kept = mine.last
    sleep(@random.rand * 0.02)
  end

  private

  # Once there was a Ractor, each_object leaves out what is not shareable.
  def found_by_each_object(mine)
    return if Ractors.played?

    found = {}.compare_by_identity
    ObjectSpace.each_object(Witness) { |witness| found[witness] = true }
    same([], mine.reject { |witness| found[witness] }.map(&:line), 'objects that each_object did not meet')
  end

  def traced
    object = line = nil
    ObjectSpace.trace_object_allocations do
      object = Object.new; line = __LINE__
    end
    same(line, ObjectSpace.allocation_sourceline(object) || line, 'the line that MRI traced')
  end
end
