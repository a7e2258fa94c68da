# frozen_string_literal: true

# What all profilers watch: objects that are kept, from a line that each of them must find, and around it what a
# process does that profilers hang on: garbage, exceptions, threads, fibers, compaction, a forked child.
class Planted
  def initialize = (@number = 1)
end

module Workload
  PORTIONS = 50
  PLANT_LINE = __LINE__ + 2
  def self.plant(count)
    Array.new(count) { Planted.new }
  end

  def self.garbage(rounds) = rounds.times.sum { |i| { "key #{i}" => ["text #{i}", i.to_s * 20] }.to_a.flatten.sum(&:size) }

  def self.exceptions(rounds)
    rounds.times.count do |i|
      raise ArgumentError, "number #{i}"
    rescue ArgumentError => e
      e.backtrace.size.positive?
    end
  end

  def self.threads = Array.new(4) { |i| Thread.new { garbage(500) + i } }.sum(&:value)

  def self.fibers = Array.new(50) { |i| Fiber.new { Fiber.yield(i); garbage(10) } }.sum { |fiber| fiber.resume + fiber.resume }

  # Another process, which inherits all of it; it works, compacts, and prints its sum.
  def self.child
    from, to = IO.pipe
    pid = fork do
      from.close
      sum = garbage(2000) + plant(500).size + exceptions(50)
      GC.compact
      to.write(sum + threads)
      to.close
      yield
      exit!(0)
    end
    to.close
    sum = from.read
    Process.wait(pid)
    "#{sum} #{$?.exitstatus.inspect}"
  end

  def self.run(count, &in_child)
    kept = Array.new(PORTIONS) { plant(count / PORTIONS).tap { garbage(200) } }.flatten
    figures = [garbage(5000), exceptions(200), threads, fibers]
    GC.compact
    GC.verify_compaction_references(expand_heap: true)
    figures << garbage(5000)
    figures << child(&in_child) if in_child
    figures << kept.sum { |planted| planted.instance_variable_get(:@number) }
    [kept, figures.join(" ")]
  end
end
