# frozen_string_literal: true

# Waits for the first heap walk of its periodic profiles, then uses memory that no sample shows, until its cgroup is near the
# limit. Ends with 0 if that leads to one walk.
# Usage: ruby --heap-sample=every=1,… near_limit.rb FOLDER
require "heapsample"

def infos = Dir["#{ARGV[0]}/*.pb.gz"].sort.map { |file| HeapSample::Profile.load(file).info }
def walks = infos.count { |info| info.walk && !info.walk.refused }

# Works until the block is content, three minutes at most.
def work
  deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 180
  until yield
    abort "no such state: #{infos.map { |info| info.walk&.to_h }}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
    2000.times { "garbage " * 20 }
    sleep 0.2
  end
end

def profiles(count) = infos.size.then { |before| work { infos.size >= before + count } }

work { walks == 1 }
profiles(4)
abort "a walk without a reason" unless walks == 1

size = 300 << 20
MAPPED = IO::Buffer.new(size, IO::Buffer::MAPPED)
(0...size).step(4096) { |at| MAPPED.set_value(:U8, at, 1) }
KEPT = Array.new(20_000) { "retained " * 10 }
work { walks == 2 }
profiles(4)
abort "#{walks} walks" unless walks == 2
