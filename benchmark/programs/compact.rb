# GC.compact over a heap with holes. Usage: ruby compact.rb OBJECTS ROUNDS
# Prints a line a round: seconds of processor time of GC.compact, objects moved.
$stdout.sync = true
objects, rounds = ARGV.map { |word| Integer(word) }

def moved = GC.latest_compact_info[:moved].sum { |_, count| count }

rounds.times do
  live = Array.new(objects) { |i| i.even? ? "string number #{i}" : [i] }
  live = live.each_slice(8).flat_map { |slice| slice.first(3) } # holes
  GC.start
  start = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
  GC.compact
  puts "#{Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - start} #{moved}"
  live.clear
end
exit!(0)
