# frozen_string_literal: true

# An object that knows the line it was allocated on. If it was sampled, its sample's stack has to name that line of that
# file, whatever has moved, was freed or allocated in between; sampled at interval 1, it has to have a sample.
class Witness
  Lie = Class.new(StandardError)

  attr_reader :path, :line

  def initialize(path, line)
    @path = path
    @line = line
  end

  # These, and those that are still there and can be found (not once there was a Ractor): each says whether it has a
  # sample.
  def self.hear(kept, every_one_sampled:)
    sampled = 0
    witnesses = {}.compare_by_identity
    kept.each { |witness| witnesses[witness] = true }
    ObjectSpace.each_object(Witness) { |witness| witnesses[witness] = true }
    witnesses.each_key do |witness|
      next unless witness.line        # allocated, not initialized: a thread was stopped there

      stack = GC::SampleProfile.raw_stack_of(witness)
      sampled += 1 if stack
      raise Lie, "a witness of #{witness.path}:#{witness.line} has no sample" if every_one_sampled && !stack
      next if !stack || stack.any? { |_, _, path, line| path == witness.path && line == witness.line }

      raise Lie, "a witness of #{witness.path}:#{witness.line} has the stack #{stack.first(5).inspect}"
    end
    [witnesses.size, sampled]
  end
end
