# frozen_string_literal: true

# Asks for a walk that hangs, and writes meanwhile to more memory than its group has left. Then lets a profile be written by
# itself. Prints what both say of the walk. For a group of 400 MiB.
# Usage: ruby --heap-sample=… walk_beside_writes.rb OUT
require "json"
require "#{ARGV.fetch(0)}/extension/heap_sampler_holders"

BLOCKS = Array.new(250) { "x" * (1 << 20) }
HANGS = Bug::HeapSamplerHolders.trouble("hang")

asking = Thread.new { GC.sample_profile(why: 60) }
sleep 0.01 until Dir.glob("/proc/self/task/*/children").any? { |file| (File.read(file) rescue "") != "" }
BLOCKS.each { |block| 0.step(block.size - 1, 4096) { |at| block.setbyte(at, 65) } } while asking.alive?
first = asking.value.to_profile.meta["kept"]

written = "#{ARGV[0]}/by-itself.pb"
File.delete(written) if File.exist?(written)
GC::SampleProfile.start(every: 1, diagnose: "50%", output: written, quiet: true)
sleep 0.1 until File.exist?(written)
puts JSON.generate([first, GC::SampleProfile.load(written).meta["kept"]])
