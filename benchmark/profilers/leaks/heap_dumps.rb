# Three heap dumps, for heapy and sheap. Allocations are traced, as heapy's README has it, so that dumps have lines.
require "objspace"
ObjectSpace.trace_object_allocations_start
Thread.new do
  [20, 38, 56].each do |second|
    Measure.at(second) do
      GC.start
      File.open("#{Measure::OUT}/#{second}.dump", "w") { |file| ObjectSpace.dump_all(output: file) }
    end
  end
end
