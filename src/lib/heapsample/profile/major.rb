# frozen_string_literal: true

module HeapSample
  # A major GC, with what it left alive: exact counts.  Meta#majors lists the major GCs of a process.
  #
  # [gc]      its GC count
  # [time]    when its marking was complete, a Time
  # [objects] how many objects the process had allocated by then
  # [pools]   bytes of the slots alive after its marking, an Array: for each of the VM's heaps
  # [malloc]  bytes allocated from malloc after its sweep, the sampler's left out; nil: not known
  Major = Struct.new(:gc, :time, :objects, :pools, :malloc) do
    # Bytes of the slots that it left alive.
    def slots = pools.sum
  end

  class Major
    MS_PER_S = 1000r
    # A number that is larger is nonsense.
    MOST = 1 << 60

    # call-seq:
    #   list(numbers, slot_sizes) -> Array of Major
    #
    # Of what the file has: for each major GC its GC count, milliseconds, objects, malloc, and the slots of each heap; each
    # counted from the major GC before.  An empty Array if the file has none, or nonsense.
    def self.list(numbers, slot_sizes)
      width = 4 + slot_sizes.size
      return [] unless numbers.is_a?(Array) && (numbers.size % width).zero? && numbers.all? { |number| number.is_a?(Integer) && number.between?(0, MOST) }

      gc = ms = objects = malloc = 0
      slots = [0] * slot_sizes.size
      majors = numbers.each_slice(width).map do |row|
        gc, ms, objects = gc + row[0], ms + row[1], objects + row[2]
        malloc += signed(row[3] - 1) if row[3] > 0
        slots = slots.zip(row.drop(4)).map { |before, step| before + signed(step) }
        new(gc, Time.at(ms / MS_PER_S), objects, slots.zip(slot_sizes).map { |count, size| count * size }, (malloc if row[3] > 0))
      end
      majors.all? { |major| [*major.pools, major.malloc || 0].min >= 0 } ? majors : []
    end

    # The number behind a zigzag code: 0, -1, 1, -2, …
    def self.signed(code) = code.even? ? code / 2 : -(code + 1) / 2
    private_class_method :signed
  end
end
