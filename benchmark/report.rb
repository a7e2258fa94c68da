# frozen_string_literal: true

# Time to read a saved profile of many stacks and to report on it.
#
#   ruby -I src/lib -I test/check/library benchmark/report.rb [STACKS [DEPTH]]
#
# The file is made here: random stacks out of a tree, no two alike, two rows in
# three of one sample; figures are seconds of processor time,
# the least of five runs.
require "build"
require "pprof_encoder"
require "tempfile"

stacks = Integer(ARGV[0] || 200_000)
depth = Integer(ARGV[1] || 30)
frame_count = 8_000
random = Random.new(42)

raw = Build.new.raw
texts = ["", "T_STRING", *Array.new(200) { |i| "Module#{i}::Class#{i}" }]
paths = Array.new(400) { |i| texts << "/srv/app/lib/part#{i % 20}/file#{i}.rb"; texts.size - 1 }
labels = Array.new(2_000) { |i| texts << "Module#{i % 200}#method_#{i}"; texts.size - 1 }
raw[:texts] = texts
raw[:frames] = Array.new(frame_count) { [labels.sample(random: random), paths.sample(random: random), 0, random.rand(1..500), 0] }.flatten
nodes = [0, 0]
leaves = [0]
level = 0
while level < depth
  wanted = [(stacks**((level + 1) / depth.to_f)).ceil, stacks].min
  leaves = Array.new(wanted) do |i|
    nodes << leaves[i % leaves.size] << random.rand(frame_count)
    nodes.size / 2 - 1
  end
  level += 1
end
raw[:nodes] = nodes
raw[:rows] = leaves.map do |leaf|
  slot = [40, 80, 160, 320, 640].sample(random: random)
  alloc = random.rand(3).zero? ? random.rand(1..1000) : 1
  inuse = random.rand(alloc + 1)
  weight = 1 / (1 - Math.exp(-slot / 524_288.0))
  estimates = [inuse, 0, alloc, alloc - inuse].flat_map { |n| [n, n * weight, n * weight * slot, n * weight * (weight - 1) * slot * slot] }
  HeapSample::Columns.complete([leaf, random.rand(2...202), 1, slot, 0, random.rand(100), 0, false, 0, *estimates, (alloc - inuse) * weight * 3])
end

clock = -> { Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) }
least = lambda do |&work|
  Array.new(5) do
    GC.start
    start = clock.call
    work.call
    clock.call - start
  end.min
end

Tempfile.create(["heap", ".pb.gz"]) do |file|
  file.binmode
  file.write(PprofEncoder.gzip(raw))
  file.flush
  puts "#{raw[:rows].size} stacks of #{depth} frames, #{file.size / 1024} KiB packed, #{RUBY_DESCRIPTION}"
  read = least.call { HeapSample::Profile.load(file.path) }
  both = least.call { HeapSample::Profile.load(file.path).report.to_s }
  memory = least.call { HeapSample::Profile.from_raw(raw).report.to_s }
  growth = least.call { (HeapSample::Profile.load(file.path) - HeapSample::Profile.from_raw(raw)).report.to_s }
  puts format("read %.2f s, read and report %.2f s, report from memory %.2f s, growth %.2f s", read, both, memory, growth)
end
