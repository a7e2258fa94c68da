# frozen_string_literal: true

# A program that uses all of the sampler, whatever the sampler has to work with: what it computes is printed, and is
# the same each time. What it asks of the sampler may raise NoMemoryError or SystemCallError, and nothing else.
# Usage: ruby program.rb DIR     the sampler's files go to DIR; its messages, too: DIR/said-PID, "FAILED WORKS":
#                                how many allocations failed, and does sampling work at the end

DIR = ARGV.fetch(0)

def asked
  yield
rescue NoMemoryError, SystemCallError
  nil
rescue RuntimeError => e
  raise unless e.message.start_with?('nothing is being sampled', 'malloc cannot be sampled')
end

def grow(depth, list) = depth.zero? ? list.map { |i| [i.to_s, { i => i.to_f }] } : grow(depth - 1, list)

def work(seed)
  kept = Array.new(5) { |i| grow(i * 3, Array.new(10) { |n| n + seed }) }
  made = Array.new(5) { |i| Class.new { define_method(:value) { "#{i}" * 3_000 } }.new }
  kept.flatten.grep(String).sum(&:to_i) + made.sum { |object| object.value.size } + eval("[#{seed}].map { |x| x.to_s }.size")
end

# One try more than there is trouble, where one call fails.
def works?
  kept = nil
  2.times.any? do
    profile = asked { GC.sample_profile(interval: 1) { kept = Array.new(50) { Object.new } } }
    profile && profile.raw_samples.size >= kept.size
  end
end

def say = File.write("#{DIR}/said-#{Process.pid}", "#{GC::SampleProfile.stat[:failed_allocations]} #{works?}")

def look
  profile = asked { GC.sample_profile(memsize: true) } or return
  %w[pb.gz pb folded json].each { |ending| asked { profile.save("#{DIR}/asked-#{Process.pid}.#{ending}") } }
  asked { profile.raw }
  asked { profile.raw_samples.each { |sample| GC::SampleProfile.object_of(sample[0]) } }
end

asked { GC::SampleProfile.start(interval: 64) }
answer = work(1)
answer += asked { GC.sample_profile(interval: 64) { work(2) } } ? 0 : 0
answer += [Thread.new { work(3) }, Thread.new { work(4) }].sum(&:value)
answer += Ractor.new { Array.new(100) { |i| i.to_s }.sum(&:size) }.take
GC.start
GC.compact
answer += work(5)
look
child = fork do
  look if work(6) == work(6)
  say
  exit!(9)
end
answer += Process.wait2(child)[1].exitstatus
asked { GC::SampleProfile.start(interval: 4096) }
GC::SampleProfile.memory
asked { GC::SampleProfile.stop }
asked { GC::SampleProfile.start(interval: 16) }
answer += work(7)
say
puts answer
exit 3
