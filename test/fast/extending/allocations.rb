# frozen_string_literal: true

# What vernier's allocation profile says of two methods whose allocations are known: "leaves texts", in units of 100.
# Usage: ruby -I VERNIER/lib allocations.rb
require "vernier"

def leaves = 300_000.times { Object.new }
def texts = 200_000.times { "text".dup }

result = Vernier.profile(allocation_interval: 100, hooks: []) { leaves; texts }
sums = Hash.new(0)
allocations = result.main_thread[:allocations]
allocations[:samples].zip(allocations[:weights]) do |stack, weight|
  labels = result.stack_table.stack(stack).frames.map { |frame| frame.func.name }
  sums[labels.grep(/leaves|texts/).first] += weight
end
puts sums.values_at("Object#leaves", "Object#texts").join(" ")
