# frozen_string_literal: true

# Measures the truth about a program: what is alive in it after a major GC, every two seconds, in each of its processes.
# Required before the program, in a run without the sampler: see measure. A line of a process's file has the seconds since
# the start, bytes of slots, bytes that malloc has allocated, RSS, threads, open files, and seconds of CPU time.
require "fiddle"

module Probe
  EVERY = 2
  STARTED = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  # The Ruby that this repository builds has jemalloc.
  MALLCTL = Fiddle::Function.new(Fiddle::Handle::DEFAULT["mallctl"], [*[Fiddle::TYPE_VOIDP] * 4, Fiddle::TYPE_SIZE_T], Fiddle::TYPE_INT)

  module_function

  def start
    @file = File.open(File.join(ENV.fetch("ZOO_PROBE"), "#{Process.pid}.tsv"), "w").tap { |file| file.sync = true }
    Thread.new { loop { measure.then { sleep EVERY } } }.name = "probe"
  end

  def measure
    GC.start
    @file.puts [Process.clock_gettime(Process::CLOCK_MONOTONIC) - STARTED, slots, malloc, rss, Thread.list.size - 1, Dir.children("/proc/self/fd").size, cpu].join("\t")
  end

  def slots = GC.stat_heap.values.sum { |heap| (heap[:total_allocated_objects] - heap[:total_freed_objects]) * heap[:slot_size] }
  def rss = File.read("/proc/self/statm").split[1].to_i * 4096
  def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)

  # Of the whole process, whatever called malloc. A new epoch makes jemalloc count anew.
  def malloc
    MALLCTL.call("epoch", nil, nil, [1].pack("Q"), 8)
    bytes, size = [0].pack("Q"), [8].pack("Q")
    MALLCTL.call("stats.allocated", bytes, size, nil, 0)
    bytes.unpack1("Q")
  end

  # Threads do not survive fork.
  module InChildren
    def _fork = super.tap { |pid| Probe.start if pid.zero? }
  end
end

Process.singleton_class.prepend(Probe::InChildren)
Probe.start
