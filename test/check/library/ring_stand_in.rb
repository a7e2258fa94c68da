# frozen_string_literal: true

# Stands in for what branch `ring` adds to Meta. Goes when that branch is merged.
module HeapSample
  class Meta
    unless method_defined?(:majors)
      Major = Struct.new(:gc, :time, :objects, :pools, :malloc) do
        def slots = pools.sum
      end
      Limit = Struct.new(:bytes, :used, :machine)

      def majors
        numbers = at("gc", "majors")
        sizes = values["heaps"].map { |heap| heap["slot_size"] }
        return [] unless numbers.is_a?(Array)

        signed = ->(code) { code.even? ? code / 2 : -(code + 1) / 2 }
        gc = ms = objects = malloc = 0
        slots = [0] * sizes.size
        numbers.each_slice(4 + sizes.size).map do |row|
          gc, ms, objects = gc + row[0], ms + row[1], objects + row[2]
          malloc += signed[row[3] - 1] if row[3] > 0
          slots = slots.zip(row.drop(4)).map { |before, step| before + signed[step] }
          Major.new(gc, Time.at(ms / 1000r), objects, slots.zip(sizes).map { |count, size| count * size }, (malloc if row[3] > 0))
        end
      end

      def reason = text("reason")
      def objects = number("objects")
    end
    Limit = Struct.new(:bytes, :used, :machine) unless const_defined?(:Limit)
    def limit = at("limit").then { |limit| Limit.new(*limit.values_at("bytes", "used", "machine")) if limit } unless method_defined?(:limit)
  end
end
