# What a heap walk costs a process with many objects, and what fork(2) costs it.
# Usage: ruby --heap-sample=… walk.rb OBJECTS MIB ROUNDS
# OBJECTS live objects, and MIB of strings' memory in addition. In each round fork(2) is called first, and then the walk is
# asked for. Prints one JSON line: milliseconds, and of the walk bytes a slot and nanoseconds of CPU time an object.
require "fiddle"
require "json"

objects, mib, rounds = ARGV.map { |word| Integer(word) }
KEPT = Array.new(objects) { Object.new }
TEXTS = Array.new(mib) { "x" * (1 << 20) }
GC.start
fork_itself = Fiddle::Function.new(Fiddle::Handle::DEFAULT["fork"], [], Fiddle::TYPE_INT)

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :float_millisecond)

def resident = File.read("/proc/self/statm").split[1].to_i * 4096.0 / (1 << 20)

def time_of_fork(fork_itself)
  start = now
  pid = fork_itself.call
  exit!(0) if pid.zero?
  took = now - start
  Process.wait(pid)
  took
end

def walk
  kept = GC.sample_profile(why: 300).to_profile.meta["kept"]
  raise kept["refused"] if kept["refused"]

  { hold_up: kept["hold_up_ns"] / 1e6, bytes: kept["child_bytes"].to_f / kept["slots"], ns: kept["walk_ns"].to_f / kept["objects"],
    objects: kept["objects"] }
end

time_of_fork(fork_itself)
walk
all = Array.new(rounds) { [time_of_fork(fork_itself), walk] }
puts JSON.generate(resident:, forks: all.map(&:first), walks: all.map(&:last))
