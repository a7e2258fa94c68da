# frozen_string_literal: true

# Writes to each page of most of its memory, again and again, for so many seconds.
# Usage: ruby --heap-sample=… writes.rb [SECONDS]
OBJECTS = Array.new(1_200_000) { |i| [i] }
BLOCKS = Array.new(150) { +"x" * 1_000_000 }

def write_all = BLOCKS.each { |block| 0.step(999_999, 4096) { |at| block.setbyte(at, 65) } }

ending = Process.clock_gettime(Process::CLOCK_MONOTONIC) + Integer(ARGV.fetch(0, 9))
while Process.clock_gettime(Process::CLOCK_MONOTONIC) < ending
  write_all
  sleep 0.01
end
