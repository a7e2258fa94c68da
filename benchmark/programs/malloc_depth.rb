# Mallocs a block at a time, at a given stack depth, and drops it.
# Usage: ruby malloc_depth.rb DEPTH N              prints how many samples of malloc were taken
#        ruby malloc_depth.rb DEPTH N time ROUNDS  times N blocks with malloc's sampling and without, in turn; prints a
#                                                  line a round: seconds of processor time on, off, samples
# Ruby methods only, seven of them in turn, as in depth.rb.

def blocks(n)
  i = 0
  while i < n
    String.new(capacity: 2047)
    i += 1
  end
end

LEVELS = 7
LEVELS.times do |level|
  eval <<~RUBY
    def level_#{level}(depth, n)
      depth == 0 ? blocks(n) : level_#{(level + 1) % LEVELS}(depth - 1, n)
    end
  RUBY
end

def taken = defined?(GC::SampleProfile) ? GC::SampleProfile.stat[:malloc_samples_taken].to_i : 0

depth, n = ARGV[0, 2].map { |word| Integer(word) }
depth -= 3 # main, the first level, blocks
rounds = ARGV[2] == "time" ? Integer(ARGV[3]) : 0

if rounds.zero?
  level_0(depth, 1000)
  before = taken
  level_0(depth, n)
  print taken - before
  $stdout.flush
  exit!(0)
end

depth -= 2 # the two blocks above and below
time = lambda do
  start = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
  level_0(depth, n)
  Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - start
end
3.times { time.call }
rounds.times do
  off = time.call
  GC::SampleProfile.start(interval: 1 << 40)
  before = taken
  on = time.call
  samples = taken - before
  GC::SampleProfile.stop
  puts [on, off, samples].join(" ")
end
