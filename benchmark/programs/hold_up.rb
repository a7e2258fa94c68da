# How long Ruby code stands still while a snapshot of many live strings is taken.
# Usage: ruby --heap-sample=… hold_up.rb STRINGS ROUNDS FILE
# One thread asks the clock over and over, and allocates an object now and then; the longest gap between two answers is
# how long it was held up, be it by the VM's lock or by the profiler's. Another thread asks for the
# snapshot after a short sleep; in the control it only sleeps.
# Prints one JSON line.
require "json"

strings, rounds = ARGV[0, 2].map { |word| Integer(word) }
file = ARGV[2]
LIVE = Array.new(strings) { |i| "live string #{i}" }
GC.start
GC.disable # a collection would be the longest gap

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

# Seconds: the longest gap while `work` runs in another thread.
def longest_gap(&work)
  sleep 0.3 # a real-time thread that never rests is made to
  done = false
  other = Thread.new do
    sleep 0.002
    work&.call
    sleep 0.002
    done = true
  end
  longest = 0.0
  ticks = 0
  last = now
  until done
    Object.new if (ticks += 1) % 8 == 0
    time = now
    longest = time - last if time - last > longest
    last = time
  end
  other.join
  longest
end

def wall
  start = now
  yield
  now - start
end

profile = GC.sample_profile
works = {
  "nothing (control)" => -> {},
  "GC.sample_profile" => -> { GC.sample_profile },
  "profile.save" => -> { profile.save(file) },
}
gaps = works.transform_values { [] }
rounds.times { works.each { |name, work| gaps[name] << longest_gap(&work) } }
snapshot = Array.new(rounds) { wall { GC.sample_profile } }
save = Array.new(rounds) { wall { profile.save(file) } }
stat = GC::SampleProfile.stat
puts JSON.generate(gaps:, wall: { "GC.sample_profile" => snapshot, "profile.save" => save }, bytes: File.size(file),
                   samples: stat[:live_samples], stacks: stat[:stacks])
