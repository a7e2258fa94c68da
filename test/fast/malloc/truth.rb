# frozen_string_literal: true

# Slots and malloc together against a known heap: nothing twice, nothing missing.
#
# Usage: ruby --heap-sample=output=none,interval=512,malloc=4k truth.rb     prints TAP
require "objspace"
require_relative "../../tap"
require_relative "charged"

HOLE = 0.05

# Strings of capacities that malloc has exactly with their NUL; arrays and hashes that outgrew their slots; and what
# fits into slots.
def build(count)
  kept = []
  count.times do |i|
    kept << String.new(capacity: [1023, 2047, 4095, 12_287][i & 3])
    kept << Array.new(128, i)
    kept << Array.new(5, i)
    table = {}
    30.times { |k| table[k] = i }
    kept << table
    kept << {a: i}
    kept << +"a short string, number #{i}"
  end
  kept
end

# Bytes of slots that are allocated, once all that is dead is swept.
def slot_bytes
  GC.start
  GC.stat_heap.sum { |_, heap| heap[:slot_size] * (heap[:total_allocated_objects] - heap[:total_freed_objects]) }
end

def memsize(kept) = kept.sum { |object| ObjectSpace.memsize_of(object) } + ObjectSpace.memsize_of(kept)

build(10)
memsize(build(1))
# The sampler's own tables are jemalloc's too, and are not sampled.
def malloc_bytes = Charged.bytes_of_this_thread - GC::SampleProfile.stat[:bytes]

slots_before, malloc_before = slot_bytes, malloc_bytes
Fiber.new { @kept = build(6000); nil }.resume
slots = slot_bytes - slots_before
malloc = malloc_bytes - malloc_before

rows = Charged.rows.select { |row| row.ruby.any? { |frame| frame.label.end_with?("#build") } }
# A line has rows of both kinds; each is one or the other.
estimated = rows.group_by(&:kind).transform_values { |of| of.sum(&:space) }
deviation = Math.sqrt(rows.sum(&:variance))

compare = lambda do |name, estimate, truth|
  off = (estimate - truth) / truth
  check(name, off.abs <= HOLE, "estimated #{estimate.round}, truly #{truth}, off by #{(off * 100).round(2)}%")
end
compare.("slots, against GC.stat_heap", estimated[:slots], slots)
compare.("malloc, against jemalloc's count of this thread", estimated[:malloc], malloc)
compare.("both together", estimated.values.sum, slots + malloc)
# memsize_of knows of hash tables and arrays what they asked for, not what malloc set aside; and of slots what they are.
compare.("both together, against ObjectSpace.memsize_of", estimated.values.sum, memsize(@kept))
puts "# deviation of the sampling: #{(deviation / (slots + malloc) * 100).round(2)}%"
Tap.plan
