# frozen_string_literal: true

# A program that uses all of the sampler, whatever the sampler has to work with: what it computes is printed, and is
# the same each time. What it asks of the sampler may raise NoMemoryError or SystemCallError, and nothing else.
# Usage: ruby program.rb DIR     the sampler's files go to DIR

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
  exit!(9)
end
answer += Process.wait2(child)[1].exitstatus
asked { GC::SampleProfile.start(interval: 4096) }
GC::SampleProfile.memory
asked { GC::SampleProfile.stop }
asked { GC::SampleProfile.start(interval: 16) }
answer += work(7)
puts answer, GC::SampleProfile.stat[:bytes].positive?
exit 3
