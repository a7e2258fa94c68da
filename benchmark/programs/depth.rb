# Allocates objects of one slot at a given stack depth.
# Usage: ruby depth.rb DEPTH N            N objects; prints how many samples were taken
#        ruby depth.rb DEPTH N time ROUNDS  times N objects with sampling at 4 KiB and without, in turn;
#                                           prints a line a round: seconds of processor time on, off, samples
# Ruby methods only, seven of them in turn, as the stack of a program would have it.

def objects(n)
  i = 0
  while i < n
    Object.new
    i += 1
  end
end

LEVELS = 7
LEVELS.times do |level|
  eval <<~RUBY
    def level_#{level}(depth, n)
      depth == 0 ? objects(n) : level_#{(level + 1) % LEVELS}(depth - 1, n)
    end
  RUBY
end

def taken = defined?(Listener) ? Listener.calls : GC::SampleProfile.stat[:samples_taken]

depth, n = ARGV[0, 2].map { |word| Integer(word) }
depth -= 3 # main, the first level, objects
rounds = ARGV[2] == "time" ? Integer(ARGV[3]) : 0

time = lambda do
  start = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
  level_0(depth, n)
  Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - start
end

if rounds.zero?
  before = taken.to_i if defined?(GC::SampleProfile)
  level_0(depth, n)
  print defined?(GC::SampleProfile) ? taken.to_i - before : 0
  $stdout.flush
  exit!(0)
end

depth -= 2 # the two blocks above and below
3.times { time.call }
rounds.times do
  off = time.call
  GC::SampleProfile.start(interval: 4096)
  before = taken
  on = time.call
  samples = taken - before
  GC::SampleProfile.stop
  puts [on, off, samples].join(" ")
end
