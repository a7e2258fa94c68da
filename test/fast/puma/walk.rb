# frozen_string_literal: true

# Fills memory up to so many bytes of its cgroup's limit, then asks what retains it. Prints the heap walk of the profile.
# Usage: ruby --heap-sample=… walk.rb BYTES
require "json"

OBJECTS = Array.new(1_000_000) { Object.new }
resident = File.read("/proc/self/statm").split[1].to_i * 4096
FILL = Array.new([(Integer(ARGV.fetch(0)) - resident) >> 20, 0].max) { "x" * (1 << 20) }
GC.start
puts JSON.generate(GC.sample_profile(why: true).to_profile.meta["kept"])
