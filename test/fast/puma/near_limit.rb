# frozen_string_literal: true

# Works until a line comes; then uses 165 MiB that no sample shows, retains very little, and works until the end of the input.
require "io/wait"

def work = (2000.times { "garbage " * 20 } until $stdin.wait_readable(0.1))

work
$stdin.gets
size = 165 << 20
MAPPED = IO::Buffer.new(size, IO::Buffer::MAPPED)
(0...size).step(4096) { |at| MAPPED.set_value(:U8, at, 1) }
KEPT = Array.new(1_000) { "retained " * 10 }
work
