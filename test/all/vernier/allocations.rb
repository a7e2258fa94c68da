# frozen_string_literal: true

# What vernier's allocation profile says of methods whose allocations are known: "leaves texts", in units of 100, and how many
# samples it has of 1,000 allocations where it records each tenth. Usage: ruby -I VERNIER/lib allocations.rb
require "vernier"

def leaves(count = 300_000) = count.times { Object.new }
def texts = 200_000.times { "text".dup }

# The weight of each method's samples.
def sums(interval, &work)
  result = Vernier.profile(allocation_interval: interval, hooks: [], &work)
  allocations = result.main_thread[:allocations]
  allocations[:samples].zip(allocations[:weights]).each_with_object(Hash.new(0)) do |(stack, weight), sums|
    labels = result.stack_table.stack(stack).frames.map { |frame| frame.func.name }
    sums[labels.grep(/leaves|texts/).first] += weight
  end
end

puts sums(100) { leaves; texts }.values_at("Object#leaves", "Object#texts").join(" ")
puts sums(10) { leaves(1000) }["Object#leaves"]
