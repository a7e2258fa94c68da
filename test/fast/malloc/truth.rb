# frozen_string_literal: true

# Slots and malloc together against a known heap: nothing twice, nothing missing.
#
# Usage: ruby --heap-sample=output=none,interval=512,malloc=4k truth.rb
require "objspace"
require_relative "../../testing"
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

# Bytes of slots that are allocated, once all garbage is swept.
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

# memsize_of counts what hash tables and arrays asked for, not what malloc set aside; and all of a slot.
FIGURES = {"slots, against GC.stat_heap" => [estimated[:slots], slots],
           "malloc, against jemalloc's count of this thread" => [estimated[:malloc], malloc],
           "both together" => [estimated.values.sum, slots + malloc],
           "both together, against ObjectSpace.memsize_of" => [estimated.values.sum, memsize(@kept)]}.freeze
DEVIATION = deviation / (slots + malloc)

class TruthTest < Test
  FIGURES.each do |name, (estimate, truth)|
    test name do
      note "estimated #{estimate.round}, truly #{truth}; deviation of the sampling: #{(DEVIATION * 100).round(2)}%"
      assert_in_epsilon truth, estimate, HOLE
    end
  end
end
