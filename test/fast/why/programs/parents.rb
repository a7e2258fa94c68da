# frozen_string_literal: true

# Each worker makes its successor in its own block, and ends. The successor's block refers to the variables of the blocks around
# it, so the last worker retains what all the ended ones had.
require "heapsample/sample_profile"

Baggage = Struct.new(:text)

# +before+ is never called, and kept all the same.
def worker(generation, ready, before)
  Thread.new do
    baggage = Baggage.new("what a worker had " * 20)
    generation.zero? ? ready << true : worker(generation - 1, ready, -> { [baggage, before] })
    sleep if generation.zero?
  end
end

ready = Queue.new
worker(1000, ready, nil)
ready.pop
GC.start
GC.sample_profile(why: true).save(ARGV.fetch(0))
