# frozen_string_literal: true

# Wherever Ruby code runs, what it mallocs is charged to its line: threads, Ractors, fibers, traps, finalizers,
# TracePoints, deep stacks, evals, a forked child.
#
# Usage: ruby --heap-sample=output=none,malloc=64k places.rb
require_relative "../../testing"
require_relative "charged"
Warning[:experimental] = false

KEEP = []
PLACES = []
EVALED = "/evaled.rb"

def at(name, line, path = __FILE__) = PLACES << [name, path, line]
# 10 MiB to the byte: malloc has 2 MiB as a size, and at 64 KiB a sample misses it once in 10^14 times.
def big = Array.new(5) { "x" * 2_097_151 }
def deep(depth, &block) = depth.zero? ? block.call : deep(depth - 1, &block)

at("the main thread", __LINE__); KEEP << Array.new(5) { "x" * 2_097_151 }
at("a thread that has ended", __LINE__); KEEP << Thread.new { Array.new(5) { "x" * 2_097_151 } }.value
ready = Queue.new
at("a thread that waits", __LINE__); Thread.new { KEEP << Array.new(5) { "x" * 2_097_151 }; ready << true; sleep }
ready.pop
at("a fiber", __LINE__); KEEP << Fiber.new { Array.new(5) { "x" * 2_097_151 } }.resume
at("an enumerator's fiber", __LINE__); KEEP << Enumerator.new { |list| list << Array.new(5) { "x" * 2_097_151 } }.next
at("3,000 frames deep", __LINE__); KEEP << deep(3000) { Array.new(5) { "x" * 2_097_151 } }
at("an eval", 77, EVALED); KEEP << eval("Array.new(5) { 'x' * 2_097_151 }", binding, EVALED, 77)
at("a trap", __LINE__); trap(:USR1) { KEEP << Array.new(5) { "x" * 2_097_151 }; ready << true }
Process.kill(:USR1, Process.pid)
ready.pop
at("a finalizer", __LINE__); done = proc { KEEP << Array.new(5) { "x" * 2_097_151 } if KEEP.none? { |kept| kept == :finalized }; KEEP << :finalized }
10.times { ObjectSpace.define_finalizer(Object.new, done) }
100.times { Object.new }
GC.start
at("a TracePoint", __LINE__); trace = TracePoint.new(:call) { KEEP << Array.new(5) { "x" * 2_097_151 }; trace.disable }
trace.enable
big.clear
at("a Ractor", __LINE__); KEEP << Ractor.new { Array.new(5) { "x" * 2_097_151 }.tap { Ractor.receive } }
sleep 0.01 until Charged.rows.any? { |row| row.line_in(__FILE__) == PLACES.last[2] && row.space > 10 << 20 } || (tries = tries.to_i + 1) > 500

class PlacesTest < Test
  def self.bytes_at((_, path, line), rows)
    rows.select { |row| row.kind == :malloc && row.line_in(path) == line && row.function == "str_enc_new" }.sum(&:space)
  end

  # In a child: what it allocates, and what it has from its parent.
  def self.of_a_child
    reading, writing = IO.pipe
    pid = fork do
      line = __LINE__; KEEP << Array.new(5) { "x" * 2_097_151 }
      rows = Charged.rows
      writing.write(Marshal.dump([["a forked child", bytes_at([nil, __FILE__, line], rows)],
                                  ["what a forked child has from its parent", bytes_at(PLACES[0], rows)]]))
      writing.close
      exit!(0)
    end
    writing.close
    Marshal.load(reading.read).tap { Process.wait(pid) }
  end

  rows = Charged.rows
  [*PLACES.map { |place| [place[0], bytes_at(place, rows)] }, *of_a_child].each do |name, bytes|
    test name do
      # Room for 24 new stacks of 512 frames until the next interrupt check: YJIT, compiling down there, may use it up, and
      # then a sample is "(busy)"'s.
      slack = name.include?("deep") ? 2 << 20 : 0
      assert_in_delta 10 << 20, bytes, 100_000 + slack
    end
  end
end
